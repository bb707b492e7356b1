"""The recipe in PyTorch: linear layers of equal size, mean squared error, Adam. There is one process per rank, and they
communicate over gloo.

    torchrun --nproc-per-node 2 torch_recipe.py --mode zero1

Rank 0 prints one line of JSON: the seconds of each counted step, the last loss, and the high-water mark of its memory.
"""
import argparse
import json
import os
import resource
import time

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["ddp", "zero1"], default="zero1",
                        help="DistributedDataParallel, without or with ZeroRedundancyOptimizer (%(default)s)")
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32",
                        help="the element type to compute in; bf16 uses autocast (%(default)s)")
    parser.add_argument("--steps", type=int, default=12, help="the number of counted steps (%(default)s)")
    parser.add_argument("--warmup", type=int, default=3, help="the number of uncounted first steps (%(default)s)")
    parser.add_argument("--layers", type=int, default=20, help="the number of linear layers (%(default)s)")
    parser.add_argument("--width", type=int, default=2000,
                        help="the number of inputs and of outputs of each layer (%(default)s)")
    parser.add_argument("--batch", type=int, default=20, help="the number of samples per rank in a batch (%(default)s)")
    return parser.parse_args()


def makeOptimizer(mode, parameters):
    if mode == "zero1":
        return ZeroRedundancyOptimizer(parameters, optimizer_class=torch.optim.Adam, lr=0.01)
    return torch.optim.Adam(parameters, lr=0.01)


def trainStep(net, optimizer, x, target, dtype):
    """Trains a step. Returns the seconds from when all ranks are ready to when all are done, and the loss."""
    dist.barrier()
    begin = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
        loss = torch.nn.functional.mse_loss(net(x), target)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    dist.barrier()
    return time.perf_counter() - begin, loss.item()


def main():
    arguments = parseArguments()
    dist.init_process_group("gloo")
    torch.set_num_threads(max(1, os.cpu_count() // dist.get_world_size()))
    torch.manual_seed(0)
    layers = [torch.nn.Linear(arguments.width, arguments.width) for _ in range(arguments.layers)]
    net = DistributedDataParallel(torch.nn.Sequential(*layers), gradient_as_bucket_view=True)
    optimizer = makeOptimizer(arguments.mode, net.parameters())
    generator = torch.Generator().manual_seed(1 + dist.get_rank())
    x = torch.randn(arguments.batch, arguments.width, generator=generator)
    target = torch.randn(arguments.batch, arguments.width, generator=generator)
    steps = [trainStep(net, optimizer, x, target, arguments.dtype)
             for _ in range(arguments.warmup + arguments.steps)]
    if dist.get_rank() == 0:
        # ru_maxrss is in units of 1024 bytes.
        peakMb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        print(json.dumps({"seconds": [seconds for seconds, _ in steps[arguments.warmup:]], "loss": steps[-1][1],
                          "peak_mb": round(peakMb, 1), "torch": torch.__version__}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
