"""A rank that trains one of transformers' models beside eager PyTorch: torch_models.py MODEL STAGE STEPS [CASE], or
MODEL module FILE.

Rank 0 prints one line of JSON: the largest relative difference of the losses to eager PyTorch's, the losses' bits, and
what else was asked for. Models are small and random, dropout is 0, all else is as transformers has it.
"""
import copy
import json
import math
import os
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import splitcast as sc
import splitcast.torch
import torch
import transformers as hf

ROWS = 7  # of the global batch: 3 and 4 ranks have not equally many
TEXT = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
        "max_position_embeddings": 16}
IMAGE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "image_size": 16,
         "patch_size": 4, "num_channels": 3, "num_labels": 5}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def of_text(model, input_ids, labels):
    return model(input_ids=input_ids, labels=labels).loss


def of_images(model, pixel_values, labels):
    return model(pixel_values=pixel_values, labels=labels).loss


MODELS = {
    "gpt2": lambda: hf.GPT2LMHeadModel(
        hf.GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0,
                      attn_pdrop=0, bos_token_id=1, eos_token_id=1)),
    "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(num_key_value_heads=2, **TEXT)),
    "vit": lambda: hf.ViTForImageClassification(hf.ViTConfig(**IMAGE, **NO_DROPOUT)),
    "bert": lambda: hf.BertForMaskedLM(hf.BertConfig(**TEXT, **NO_DROPOUT)),
    "t5": lambda: hf.T5ForConditionalGeneration(
        hf.T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, dropout_rate=0,
                    pad_token_id=0, decoder_start_token_id=0)),
    "mistral": lambda: hf.MistralForCausalLM(hf.MistralConfig(num_key_value_heads=2, **TEXT)),
    "qwen2": lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(num_key_value_heads=2, **TEXT)),
    "gemma": lambda: hf.GemmaForCausalLM(hf.GemmaConfig(num_key_value_heads=2, head_dim=4, **TEXT)),
    "phi": lambda: hf.PhiForCausalLM(
        hf.PhiConfig(resid_pdrop=0, embd_pdrop=0, attention_dropout=0, bos_token_id=1, eos_token_id=1, **TEXT)),
    "deit": lambda: hf.DeiTForImageClassification(hf.DeiTConfig(**IMAGE, **NO_DROPOUT)),
    "swin": lambda: hf.SwinForImageClassification(
        hf.SwinConfig(image_size=16, patch_size=2, embed_dim=8, depths=[1, 1], num_heads=[2, 2], window_size=4,
                      num_labels=5, drop_path_rate=0, **NO_DROPOUT)),
    "convnext": lambda: hf.ConvNextForImageClassification(
        hf.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2, num_labels=5, image_size=16)),
    "resnet18": lambda: hf.ResNetForImageClassification(
        hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[2, 2, 2, 2], layer_type="basic",
                        num_labels=5)),
}
IMAGES = {"vit", "deit", "swin", "convnext", "resnet18"}
# Of so few samples and channels, statistics of batches make noise of rounding: eager PyTorch in f32 is 1e-2 from itself
# in f64 after ten steps. So this one is compared in f64, on images that are larger than a last layer's one element.
IN_DOUBLE = {"resnet18"}


def batch_of(name, step):
    """Of all ranks."""
    random = torch.Generator().manual_seed(step)
    if name in IMAGES:
        size, dtype = (64, torch.float64) if name in IN_DOUBLE else (16, torch.float32)
        return {"pixel_values": torch.randn(ROWS, 3, size, size, generator=random).to(dtype),
                "labels": torch.randint(0, 5, (ROWS,), generator=random)}
    ids = torch.randint(2, 50, (ROWS, 12), generator=random)
    labels = ids.clone()
    labels[step % ROWS, 3:] = -100  # of one row, most positions do not count
    return {"input_ids": ids, "labels": labels}


def rows_of(batch):
    """This rank's."""
    rank, size = sc.rank(), sc.size()
    counts = [ROWS // size + (each < ROWS % size) for each in range(size)]
    first = sum(counts[:rank])
    return {name: value[first:first + counts[rank]] for name, value in batch.items()}


def optimizer_of(model, case):
    if case != "groups":
        return torch.optim.AdamW(model.parameters(), lr=1e-2)
    decayed = [each for each in model.parameters() if each.dim() > 1]
    others = [each for each in model.parameters() if each.dim() <= 1]
    return torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0, "lr": 3e-3}],
                             lr=1e-2)


def write_module(name, path):
    """The training of twice as many rows, which two and seven micro-batches divide, for tests/examples/TrainingCostsTest."""
    global ROWS
    ROWS *= 2
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, loss = MODELS[name](), of_images if name in IMAGES else of_text
    batch = {key: value.to(torch.float32) if value.is_floating_point() else value
             for key, value in rows_of(batch_of(name, 0)).items()}
    trainer = splitcast.torch.compile(model, loss, batch, optimizer_of(model, ""), loss_scale=sc.LossScale(initial=1024))
    if sc.rank() == 0:
        with open(path, "w") as file:
            file.write(trainer.ir("source"))


def main():
    if sys.argv[2] == "module":
        return write_module(sys.argv[1], sys.argv[3])
    name, stage, steps, case = sys.argv[1], sys.argv[2], int(sys.argv[3]), (sys.argv[4:] or [""])[0]
    torch.manual_seed(sc.rank() if case == "other-models" else 0)
    torch.set_num_threads(1)
    model, loss = MODELS[name](), of_images if name in IMAGES else of_text
    model = model.double() if name in IN_DOUBLE else model
    if case == "frozen":
        for each in list(model.parameters())[:5]:
            each.requires_grad_(False)
    eager = copy.deepcopy(model)
    trainer = splitcast.torch.compile(model, loss, rows_of(batch_of(name, 0)), optimizer_of(model, case),
                                      enable_zero=int(stage))
    optimizer = optimizer_of(eager, case)
    eager.train()
    worst, bits = 0, []
    for step in range(steps):
        batch = batch_of(name, step)
        ours = trainer.step(rows_of(batch))
        optimizer.zero_grad()
        theirs = loss(eager, **batch)
        theirs.backward()
        optimizer.step()
        worst = max(worst, abs(ours - theirs.item()) / abs(theirs.item())) if math.isfinite(ours) else math.inf
        bits.append(ours.hex())
    result = {"worst": worst, "bits": bits}
    eager.eval()
    batch = batch_of(name, 99)
    theirs = loss(eager, **batch).item()
    result["evaluation"] = abs(trainer.evaluate(rows_of(batch)) - theirs) / abs(theirs)
    state = trainer.state_dict()
    frozen = [key for key, value in model.named_parameters() if not value.requires_grad]
    result["frozen unchanged"] = len(frozen) == (5 if case == "frozen" else 0) and all(
        torch.equal(state[key], model.get_parameter(key)) for key in frozen)
    other = {key: torch.randn_like(value) if value.is_floating_point() else value + 7
             for key, value in {id(v): (k, v) for k, v in state.items()}.values()}
    other = {key: next(other[first] for first, value in state.items() if value is state[key] and first in other)
             for key in state}
    trainer.load_state_dict(other)
    result["round trip"] = all(torch.equal(value, other[key]) for key, value in trainer.state_dict().items())
    loaded = model.load_state_dict(state, strict=False)
    result["loads in torch"] = not loaded.unexpected_keys and not set(loaded.missing_keys) & set(
        dict(model.named_parameters()))
    if sc.rank() == 0:
        print("RESULT " + json.dumps(result), flush=True)


main()
