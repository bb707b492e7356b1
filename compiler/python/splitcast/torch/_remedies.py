"""What to write in place of ops that have no mapping."""
from __future__ import annotations

import torch
from splitcast.torch._export import packet_of

SIZES = ("a value decides a size or an op, but a graph has the same in every step; use torch.where or masks that are "
         "multiplied")
NUMBERS = f"{SIZES}, and leave numbers of the batch tensors: .item() and .tolist() take them out of the graph"
DECOMPOSED = "matrices are not decomposed or inverted here; compute that outside of the step and give it as an input"
COMPLEX = "there are no complex numbers; hold the real and the imaginary part in a dimension"
BITS = "bits of integers are not supported; use %, // and comparisons"

# By the op's name without its overload, since older versions of PyTorch lack some. Other ops have OTHERWISE.
REMEDIES = {
    **dict.fromkeys(("aten.nonzero", "aten.masked_select", "aten._unique", "aten._unique2", "aten.unique_dim",
                     "aten.unique_consecutive"), SIZES),
    **dict.fromkeys(("aten._local_scalar_dense", "aten.item"), NUMBERS),
    **dict.fromkeys(("aten._linalg_svd", "aten.linalg_inv_ex", "aten._linalg_det", "aten._linalg_slogdet",
                     "aten.linalg_cholesky_ex", "aten._linalg_solve_ex", "aten._linalg_eigh", "aten.linalg_qr"),
                    f"no mapping; {DECOMPOSED}"),
    **dict.fromkeys(("aten._fft_r2c", "aten._fft_c2c", "aten._fft_c2r"),
                    "no mapping; a Fourier transform of fixed length is a product with matrices of sines and cosines"),
    **dict.fromkeys(("aten.view_as_complex", "aten.complex", "aten.polar"), f"no mapping; {COMPLEX}"),
    **dict.fromkeys(("aten.bitwise_and", "aten.bitwise_or", "aten.bitwise_xor", "aten.__lshift__", "aten.__rshift__",
                     "aten.bitwise_left_shift", "aten.bitwise_right_shift"), f"no mapping; {BITS}"),
    **dict.fromkeys(("aten.bincount", "aten.histc"),
                    "no mapping; compare with each number, and sum: (x[:, None] == torch.arange(n)).sum(0)"),
    **dict.fromkeys(("aten.searchsorted", "aten.bucketize"),
                    "no mapping; count the bounds below it: (x[..., None] > bounds).sum(-1)"),
    **dict.fromkeys(("aten._to_sparse", "aten._sparse_addmm", "aten._sparse_mm"),
                    "no mapping; tensors are dense here: leave out to_sparse()"),
    "aten.kthvalue": "no mapping; take the last of x.topk(k, dim, largest=False)",
    "aten.median": "no mapping; take the middle of x.sort(dim)",
    "aten.cumprod": "no mapping; of positive numbers it is x.log().cumsum(dim).exp()",
    "aten.randint": "no mapping; use (torch.rand(size) * n).floor(), and .long() for indices",
    "aten.randperm": "no mapping; use torch.rand(n).sort()[1]",
}
OTHERWISE = "no mapping; write it with other ops, or compute it outside of the step and give it as an input"


def remedy_of(node: torch.fx.Node) -> str:
    """What is wrong with an op that has no mapping, and what to write instead."""
    return REMEDIES.get(str(packet_of(node)), OTHERWISE)
