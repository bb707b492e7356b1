"""A rank that trains a small classifier, and says when it has joined the job and which bits it has got:

    trains.py STEPS TIMEOUT [FILE]

With FILE, rank 0 waits for it to exist before it begins the second half of the steps.
"""
import hashlib
import os
import sys
import time

import numpy as np
import splitcast as sc

ROWS, FEATURES, CLASSES = 62, 13, 5  # of which no number of ranks here divides any


def main() -> None:
    steps, timeout, awaited = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    sc.init(timeout=timeout)
    graph = sc.Graph({"dp": sc.size()})
    print(f"rank {sc.rank()} has joined", flush=True)
    x = graph.input("x", sc.f32, (ROWS, FEATURES), sc.split(0))
    labels = graph.input("labels", sc.i64, (ROWS,), sc.split(0))
    logits = sc.linear(sc.gelu(sc.linear(x, "hidden", 37)), "classes", CLASSES)
    loss = sc.mean(sc.softmax_cross_entropy(logits, labels))
    graph.minimize(loss, sc.AdamW(lr=1e-2))
    graph.output("loss", loss)
    session = graph.compile(enable_zero=3)

    random = np.random.default_rng(1)
    bits = hashlib.sha256()
    value = 0.0
    for step in range(steps):
        while step == steps // 2 and sc.rank() == 0 and awaited and not os.path.exists(awaited[0]):
            time.sleep(0.02)
        batch = random.standard_normal((ROWS, FEATURES), dtype=np.float32)
        value = float(session.run("main", whole=True, x=batch, labels=np.abs(batch).argmax(axis=1) % CLASSES)["loss"])
        bits.update(np.float32(value).tobytes())
    for name in sorted(session.variables):
        bits.update(np.ascontiguousarray(session.read(name)).tobytes())
    print(f"last loss {value.hex()}, bits of {steps} losses and {len(session.variables)} variables {bits.hexdigest()}",
          flush=True)


if __name__ == "__main__":
    main()
