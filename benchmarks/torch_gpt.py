"""Computes the loss of examples/gpt in PyTorch, from variables with that example's names and shapes. Weights are
[inputs, outputs]."""
import torch
from torch.nn import functional


def rotated(x):
    """Applies GPT-NeoX's rotary positions to x [samples, heads, positions, width per head]: rotates the first quarter
    of each head, in pairs of element i of its first half and element i of its second half."""
    positions, width = x.shape[2:]
    pairs = width // 8
    speeds = 10000.0 ** (-torch.arange(pairs, dtype=x.dtype) / pairs)
    angles = torch.arange(positions, dtype=x.dtype)[:, None] * speeds
    first, second, rest = x[..., :pairs], x[..., pairs:2 * pairs], x[..., 2 * pairs:]
    return torch.cat([first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin(), rest],
                     -1)


class Gpt:
    """The model without dropout. It is shaped like GPT-2: layer norms come before attention and before the MLP, and the
    output matrix is the token embedding. If there is a variable out.weight, it is shaped like GPT-NeoX, and that is the
    output matrix."""

    def __init__(self, variables, heads):
        self.variables = variables
        self.heads = heads
        self.layers = sum(name.endswith(".ln1.weight") for name in variables)
        self.isNeox = "out.weight" in variables

    def normalized(self, x, name):
        weight, bias = self.variables[name + ".weight"], self.variables[name + ".bias"]
        return functional.layer_norm(x, weight.shape, weight, bias, eps=1e-5)

    def dense(self, x, name):
        y = x @ self.variables[name + ".weight"] + self.variables[name + ".bias"]
        if name + ".adapter.down" not in self.variables:
            return y
        return y + x @ self.variables[name + ".adapter.down"] @ self.variables[name + ".adapter.up"]

    def attended(self, x, name):
        samples, positions, width = x.shape
        query, key, value = (
            self.dense(x, f"{name}.{part}").view(samples, positions, self.heads, width // self.heads).transpose(1, 2)
            for part in ("query", "key", "value"))
        if self.isNeox:
            query, key = rotated(query), rotated(key)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.dense(mixed.transpose(1, 2).reshape(x.shape), name + ".projection")

    def twoLayers(self, x, name):
        up = functional.gelu(self.dense(x, name + ".up"), approximate="none" if self.isNeox else "tanh")
        return self.dense(up, name + ".down")

    def block(self, x, name):
        attended = self.attended(self.normalized(x, name + ".ln1"), name)
        if self.isNeox:
            return x + attended + self.twoLayers(self.normalized(x, name + ".ln2"), name)
        x = x + attended
        return x + self.twoLayers(self.normalized(x, name + ".ln2"), name)

    def logits(self, tokens):
        x = functional.embedding(tokens, self.variables["wte.weight"])
        if not self.isNeox:
            x = x + self.variables["wpe.weight"][:tokens.shape[1]]
        for layer in range(self.layers):
            x = self.block(x, f"h{layer}")
        table = self.variables["out.weight"] if self.isNeox else self.variables["wte.weight"].T
        return self.normalized(x, "ln") @ table


def gptLoss(variables, batch, flags):
    logits = Gpt(variables, flags.heads).logits(batch["tokens"])
    return functional.cross_entropy(logits.flatten(0, 1), batch["next"].flatten())
