#!/usr/bin/env python3
"""Fine-tunes a GPT-2 of transformers on the bytes of a text.

    mpirun -n 4 python3 finetune_gpt2.py DIRECTORY TEXT OUTPUT --stage=3

DIRECTORY holds the model as transformers saves it (config.json, model.safetensors). The fine-tuned model is written to
OUTPUT in the same format. The program needs torch and transformers.
"""
import argparse

import splitcast as sc
import splitcast.torch
import torch
from transformers import GPT2LMHeadModel


def loss_of(model, tokens):
    return model(input_ids=tokens, labels=tokens).loss


def batches(text, rows, positions, steps):
    """Yields this rank's rows of each batch: windows of the text at random places, the same for any number of ranks."""
    random = torch.Generator().manual_seed(0)
    first = sum(rows // sc.size() + (rank < rows % sc.size()) for rank in range(sc.rank()))
    count = rows // sc.size() + (sc.rank() < rows % sc.size())
    for _ in range(steps):
        places = torch.randint(0, len(text) - positions, (rows,), generator=random)[first:first + count]
        yield torch.stack([text[place:place + positions] for place in places])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", help="the directory of the model to fine-tune")
    parser.add_argument("text", help="the file to train on; each of its bytes is a token")
    parser.add_argument("output", help="the directory to which the fine-tuned model is written")
    parser.add_argument("--stage", type=int, default=2, help="the stage of ZeRO, 0 to 3 (%(default)s)")
    parser.add_argument("--steps", type=int, default=50, help="the number of training steps (%(default)s)")
    parser.add_argument("--rows", type=int, default=8, help="the batch size, over all ranks (%(default)s)")
    parser.add_argument("--positions", type=int, default=64, help="the number of tokens per row (%(default)s)")
    flags = parser.parse_args()

    model = GPT2LMHeadModel.from_pretrained(flags.directory).train()
    for name, part in model.named_modules():
        if name.endswith("attn_dropout"):  # with it, all attention weights would be kept for backward
            part.p = 0.0
    with open(flags.text, "rb") as file:
        text = torch.tensor(list(file.read()))
    data = batches(text, flags.rows, flags.positions, flags.steps)
    trainer = None
    for step, tokens in enumerate(data):
        if trainer is None:
            decayed = [each for each in model.parameters() if each.dim() > 1]
            others = [each for each in model.parameters() if each.dim() <= 1]
            optimizer = torch.optim.AdamW(
                [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0}], lr=1e-3)
            trainer = splitcast.torch.compile(model, loss_of, {"tokens": tokens}, optimizer, enable_zero=flags.stage,
                                              clip_norm=1.0)
            if sc.rank() == 0:
                print(f"predicted peak: {trainer.report()['peak_bytes'] / 1e6:.1f} MB per rank")
        loss = trainer.step({"tokens": tokens})
        if sc.rank() == 0:
            print(f"step {step + 1}: loss {loss:.5g}", flush=True)
    model.load_state_dict(trainer.state_dict(), strict=False)
    if sc.rank() == 0:
        model.save_pretrained(flags.output)


if __name__ == "__main__":
    main()
