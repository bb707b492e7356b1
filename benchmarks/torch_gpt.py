"""The loss of examples/gpt in PyTorch, from variables with its names and shapes: weights are [inputs, outputs]."""
from torch.nn import functional


class Gpt:
    """Without dropout. GPT-2's order: layer norms before attention and before the two layers; the embedding is also the
    last product's matrix."""

    def __init__(self, variables, heads):
        self.variables = variables
        self.heads = heads
        self.layers = sum(name.endswith(".ln1.weight") for name in variables)

    def normalized(self, x, name):
        weight, bias = self.variables[name + ".weight"], self.variables[name + ".bias"]
        return functional.layer_norm(x, weight.shape, weight, bias, eps=1e-5)

    def dense(self, x, name):
        return x @ self.variables[name + ".weight"] + self.variables[name + ".bias"]

    def attended(self, x, name):
        samples, positions, width = x.shape
        query, key, value = (
            self.dense(x, f"{name}.{part}").view(samples, positions, self.heads, width // self.heads).transpose(1, 2)
            for part in ("query", "key", "value"))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.dense(mixed.transpose(1, 2).reshape(x.shape), name + ".projection")

    def block(self, x, name):
        x = x + self.attended(self.normalized(x, name + ".ln1"), name)
        up = functional.gelu(self.dense(self.normalized(x, name + ".ln2"), name + ".up"), approximate="tanh")
        return x + self.dense(up, name + ".down")

    def logits(self, tokens):
        words, places = self.variables["wte.weight"], self.variables["wpe.weight"]
        x = functional.embedding(tokens, words) + places[:tokens.shape[1]]
        for layer in range(self.layers):
            x = self.block(x, f"h{layer}")
        return self.normalized(x, "ln") @ words.T


def gptLoss(variables, batch, flags):
    logits = Gpt(variables, flags.heads).logits(batch["tokens"])
    return functional.cross_entropy(logits.flatten(0, 1), batch["next"].flatten())
