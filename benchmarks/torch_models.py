"""Trains the models of the examples in PyTorch, from saved variables and on written batches. Prints each step's loss.

    python3 torch_models.py classifier DIRECTORY [flags]     DIRECTORY: variables (safetensors), x.npy, labels.npy
    python3 torch_models.py text_model DIRECTORY [flags]     DIRECTORY: variables (safetensors), bytes.npy, next.npy
    python3 torch_models.py gpt DIRECTORY [flags]            DIRECTORY: variables (safetensors), tokens.npy, next.npy

The flags are those of the example. Those that follow from the variables and the batches are ignored.
"""
import argparse
import fnmatch
import json
import os
import re

import numpy
import torch
from torch.nn import functional
from torch_gpt import gptLoss

# The element types of the variables. With bf16, autocast computes in bf16 and the variables stay f32.
ELEMENTS = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.float32}
OPTIMIZER_STATE = re.compile(r"^optimizer\.|\.exp_avg(_sq)?$")


def readVariables(path, elements):
    """Reads the f32 tensors of a safetensors file, except for optimizer state. Returns parameters by name. The format
    is the length of the header in 8 bytes, the header in JSON, and the data."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = file.read()
    variables = {}
    for name, entry in header.items():
        if name != "__metadata__" and not OPTIMIZER_STATE.search(name) and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            array = numpy.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])
            variables[name] = torch.nn.Parameter(torch.from_numpy(array.copy()).to(elements))
    return variables


def readInput(path, elements):
    values = torch.from_numpy(numpy.load(path))
    return values.to(elements) if values.is_floating_point() else values


def linear(variables, name, x):
    """Applies a linear layer whose weight is [inputs, outputs]."""
    return x @ variables[name + ".weight"] + variables[name + ".bias"]


def classifierLoss(variables, batch, _):
    hidden = functional.relu(linear(variables, "fc1", batch["x"]))
    return functional.cross_entropy(linear(variables, "fc2", hidden), batch["labels"])


def textModelLoss(variables, batch, _):
    window = functional.embedding(batch["bytes"], variables["embedding.weight"]).flatten(1)
    hidden = functional.gelu(linear(variables, "hidden", window))
    return functional.cross_entropy(linear(variables, "output", hidden), batch["next"])


def freeze(flags, variables):
    """Excludes from training the variables that --freeze names and, if there are adapters, all others than these."""
    hasAdapters = any(".adapter." in name for name in variables)
    for name, variable in variables.items():
        isNamed = any(fnmatch.fnmatchcase(name, pattern) for pattern in flags.freeze.split(","))
        variable.requires_grad_(not isNamed and (not hasAdapters or ".adapter." in name))


def adamW(flags, parameters):
    """Makes the optimizer AdamW with the same betas and epsilon as ours."""
    return torch.optim.AdamW(parameters, lr=flags.lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=flags.weight_decay)


# (loss of a batch, inputs, optimizer)
MODELS = {
    "classifier": (classifierLoss, ["x", "labels"], lambda _, parameters: torch.optim.SGD(parameters, lr=1e-3)),
    "text_model": (textModelLoss, ["bytes", "next"], adamW),
    "gpt": (gptLoss, ["tokens", "next"], adamW),
}


def parseArguments():
    """Parses the command line. The defaults are those of the examples, except for --lr, which is that of text_model:
    for gpt, models.py always passes it."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("directory", help="the directory of the variables and the batches")
    parser.add_argument("--elements", choices=ELEMENTS, default="f32",
                        help="the element type to compute in, which is not a flag of the examples (%(default)s)")
    parser.add_argument("--accumulate", type=int, default=1,
                        help="the number of micro-batches per step, of equally many rows (%(default)s)")
    parser.add_argument("--freeze", default="", help="patterns of names of variables not to train, separated by commas")
    parser.add_argument("--heads", type=int, default=4, help="the number of attention heads per block (%(default)s)")
    parser.add_argument("--lr", type=float, default=2e-3, help="the learning rate of AdamW (%(default)s)")
    parser.add_argument("--weight-decay", type=float, default=0.01, help="the weight decay of AdamW (%(default)s)")
    return parser.parse_known_args()[0]


def main():
    arguments = parseArguments()
    lossOf, inputNames, makeOptimizer = MODELS[arguments.model]
    elements = ELEMENTS[arguments.elements]
    variables = readVariables(os.path.join(arguments.directory, "variables"), elements)
    inputs = {name: readInput(os.path.join(arguments.directory, name + ".npy"), elements) for name in inputNames}
    freeze(arguments, variables)
    optimizer = makeOptimizer(arguments, [variable for variable in variables.values() if variable.requires_grad])
    for step in range(len(inputs[inputNames[0]])):
        parts = zip(*(inputs[name][step].chunk(arguments.accumulate) for name in inputNames))
        total = 0
        for part in parts:
            with torch.autocast("cpu", torch.bfloat16, enabled=arguments.elements == "bf16"):
                loss = lossOf(variables, dict(zip(inputNames, part)), arguments) / arguments.accumulate
            loss.backward()
            total += loss.item()
        optimizer.step()
        optimizer.zero_grad()
        print(f"{step + 1} {total:.9g}", flush=True)


if __name__ == "__main__":
    main()
