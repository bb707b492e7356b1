"""The random words of nn.dropout and nn.uniform, by NumPy."""
import numpy as np


def mixed(word):
    """A permutation of uint32: C. Wellons' lowbias32."""
    word = (word ^ (word >> np.uint32(16))) * np.uint32(0x7FEB352D)
    word = (word ^ (word >> np.uint32(15))) * np.uint32(0x846CA68B)
    return word ^ (word >> np.uint32(16))


def randomWords(key, indices):
    """One uint32 for each index, which is below 2^64."""
    indices = np.asarray(indices, np.uint64)
    low, high = indices.astype(np.uint32), (indices >> np.uint64(32)).astype(np.uint32)
    words = np.array([key % 2**64], np.uint64)
    keyLow, keyHigh = words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)
    with np.errstate(over="ignore"):
        first = mixed(mixed(keyLow + np.uint32(0x9E3779B9)) ^ keyHigh)
        second = mixed(first + np.uint32(0x85EBCA6B))
        return mixed(mixed(low ^ first) + second + mixed(high))


def placedWords(shape, key, offsets, globalShape):
    """The random words of a piece of this shape, at these offsets in a tensor of the global shape."""
    indices = np.zeros(shape, np.uint64)
    for dim, extent in enumerate(shape):
        here = np.arange(extent, dtype=np.uint64) + np.uint64(offsets[dim] if offsets else 0)
        here = here.reshape([-1 if other == dim else 1 for other in range(len(shape))])
        indices = indices * np.uint64((globalShape or shape)[dim]) + here
    return randomWords(key, indices).reshape(shape)
