"""The examples in PyTorch, from saved variables, on written batches: prints each step's loss.

    python3 torch_models.py classifier DIRECTORY [flags]     DIRECTORY: variables (safetensors), x.npy, labels.npy
    python3 torch_models.py text_model DIRECTORY [flags]     DIRECTORY: variables (safetensors), bytes.npy, next.npy
    python3 torch_models.py gpt DIRECTORY [flags]            DIRECTORY: variables (safetensors), tokens.npy, next.npy

The flags are those of the example; what the variables and the batches do not tell is read from them.
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

# What variables are of; bf16 is autocasting's, with variables of f32.
ELEMENTS = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.float32}
OPTIMIZER_STATE = re.compile(r"^optimizer\.|\.exp_avg(_sq)?$")


def readVariables(path, elements):
    """The f32 tensors of a safetensors file, as parameters by name, without the optimizer's state. The format: 8 bytes
    of length, a JSON header, the data."""
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
    """Weights are [inputs, outputs] here."""
    return x @ variables[name + ".weight"] + variables[name + ".bias"]


def classifierLoss(variables, batch, _):
    hidden = functional.relu(linear(variables, "fc1", batch["x"]))
    return functional.cross_entropy(linear(variables, "fc2", hidden), batch["labels"])


def textModelLoss(variables, batch, _):
    window = functional.embedding(batch["bytes"], variables["embedding.weight"]).flatten(1)
    hidden = functional.gelu(linear(variables, "hidden", window))
    return functional.cross_entropy(linear(variables, "output", hidden), batch["next"])


def freeze(flags, variables):
    """Those that --freeze names, and beside adapters all others, need no gradient."""
    hasAdapters = any(".adapter." in name for name in variables)
    for name, variable in variables.items():
        isNamed = any(fnmatch.fnmatchcase(name, pattern) for pattern in flags.freeze.split(","))
        variable.requires_grad_(not isNamed and (not hasAdapters or ".adapter." in name))


def adamW(flags, parameters):
    """As ours: betas 0.9 and 0.999, the decay beside the gradient."""
    return torch.optim.AdamW(parameters, lr=flags.lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=flags.weight_decay)


# (loss of a batch, inputs, optimizer)
MODELS = {
    "classifier": (classifierLoss, ["x", "labels"], lambda _, parameters: torch.optim.SGD(parameters, lr=1e-3)),
    "text_model": (textModelLoss, ["bytes", "next"], adamW),
    "gpt": (gptLoss, ["tokens", "next"], adamW),
}


def parseArguments():
    """The defaults are the examples'."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("directory")
    parser.add_argument("--elements", choices=ELEMENTS, default="f32", help="to compute in; no flag of the examples")
    parser.add_argument("--accumulate", type=int, default=1, help="backwards per step, each of as many rows")
    parser.add_argument("--freeze", default="", help="patterns of names of variables, with commas between")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--weight-decay", type=float, default=0.01)
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
