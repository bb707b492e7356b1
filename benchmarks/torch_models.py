"""The classifier and the language model in PyTorch, from saved variables, on written batches: prints each step's loss.

    python3 torch_models.py classifier DIRECTORY     DIRECTORY: variables (safetensors), x.npy, labels.npy
    python3 torch_models.py text_model DIRECTORY     DIRECTORY: variables (safetensors), bytes.npy, next.npy
"""
import json
import os
import sys

import numpy
import torch
from torch.nn import functional


def readVariables(path):
    """All f32 tensors of a safetensors file, as parameters by name: 8 bytes length, a JSON header, the data."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = file.read()
    variables = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            array = numpy.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])
            variables[name] = torch.nn.Parameter(torch.from_numpy(array.copy()))
    return variables


def linear(variables, name, x):
    """Weights are [inputs, outputs] here."""
    return x @ variables[name + ".weight"] + variables[name + ".bias"]


def classifierLoss(variables, batch):
    hidden = functional.relu(linear(variables, "fc1", batch["x"]))
    return functional.cross_entropy(linear(variables, "fc2", hidden), batch["labels"])


def textModelLoss(variables, batch):
    window = functional.embedding(batch["bytes"], variables["embedding.weight"]).flatten(1)
    hidden = functional.gelu(linear(variables, "hidden", window))
    return functional.cross_entropy(linear(variables, "output", hidden), batch["next"])


MODELS = {
    "classifier": (classifierLoss, ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"], ["x", "labels"],
                   lambda parameters: torch.optim.SGD(parameters, lr=1e-3)),
    "text_model": (textModelLoss,
                   ["embedding.weight", "hidden.weight", "hidden.bias", "output.weight", "output.bias"],
                   ["bytes", "next"],
                   lambda parameters: torch.optim.AdamW(parameters, lr=2e-3, eps=1e-8, weight_decay=0.01)),
}


def main():
    name, directory = sys.argv[1:]
    lossOf, parameterNames, inputNames, makeOptimizer = MODELS[name]
    variables = readVariables(os.path.join(directory, "variables"))
    inputs = {input: torch.from_numpy(numpy.load(os.path.join(directory, input + ".npy"))) for input in inputNames}
    optimizer = makeOptimizer([variables[parameter] for parameter in parameterNames])
    for step in range(len(inputs[inputNames[0]])):
        loss = lossOf(variables, {input: values[step] for input, values in inputs.items()})
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"{step + 1} {loss.item():.9g}", flush=True)


if __name__ == "__main__":
    main()
