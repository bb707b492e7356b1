"""LSTM, GRU and RNN, whose steps in time are all part of the graph.

Samples are the first dimension of all that is computed, so that ranks and micro-batches can each have some of them.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import splitcast as sc
import torch
from splitcast.torch.ops.products import rows_of
from splitcast.torch.ops.shapes import transposed
from splitcast.torch.ops.table import Unary, Value, op

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


def _product(x: sc.Tensor, weight: sc.Tensor, bias: sc.Tensor | None = None) -> sc.Tensor:
    """weight x + bias, for each row."""
    y = sc.matmul(x, weight, transpose_b=True)
    return y if bias is None else y + bias


def _parts(x: sc.Tensor, count: int) -> list[sc.Tensor]:
    width = x.shape[1] // count
    return [sc.slice(x, 1, number * width, width) for number in range(count)]


# A cell returns the states after a step: of the step's products with the inputs, the states before it, and the weights.
def _lstm_cell(given: sc.Tensor, states: list[sc.Tensor], weight: sc.Tensor, bias: sc.Tensor | None,
               projection: sc.Tensor | None = None) -> list[sc.Tensor]:
    hidden, cell = states
    admit, keep, new, show = _parts(given + _product(hidden, weight, bias), 4)
    cell = sc.sigmoid(keep) * cell + sc.sigmoid(admit) * sc.tanh(new)
    hidden = sc.sigmoid(show) * sc.tanh(cell)
    return [hidden if projection is None else _product(hidden, projection), cell]


def _gru_cell(given: sc.Tensor, states: list[sc.Tensor], weight: sc.Tensor, bias: sc.Tensor | None) -> list[sc.Tensor]:
    of_input, of_state = _parts(given, 3), _parts(_product(states[0], weight, bias), 3)
    reset, keep = [sc.sigmoid(a + b) for a, b in list(zip(of_input, of_state))[:2]]
    new = sc.tanh(of_input[2] + reset * of_state[2])
    return [new + keep * (states[0] - new)]


Cell: TypeAlias = "Callable[..., list[sc.Tensor]]"  # what is described above


def _rnn_cell(of: Unary) -> Cell:
    return lambda given, states, weight, bias: [of(given + _product(states[0], weight, bias))]


def _direction(cell: Cell, x: sc.Tensor, states: list[sc.Tensor], weights: list[sc.Tensor], has_biases: bool,
               is_backward: bool) -> tuple[sc.Tensor, list[sc.Tensor]]:
    """(the hidden states of all steps [samples, steps, width], the states after the last step)."""
    of_input, of_state = weights[:2]
    biases = weights[2:4] if has_biases else [None, None]
    samples, steps = x.shape[:2]
    given = sc.reshape(_product(rows_of(x), of_input, biases[0]), (samples, steps, of_input.shape[0]))
    found = []
    for step in reversed(range(steps)) if is_backward else range(steps):
        now = sc.reshape(sc.slice(given, 1, step, 1), (samples, of_input.shape[0]))
        states = cell(now, states, of_state, biases[1], *weights[4 if has_biases else 2:])
        found.append(sc.reshape(states[0], (samples, 1, states[0].shape[1])))
    return sc.concat(found[::-1] if is_backward else found, 1), states


def _state_of(importer: Importer, state: Value, number: int) -> sc.Tensor:
    """The state [samples, width] of one layer and direction."""
    if isinstance(state, torch.Tensor):
        return importer.tensor(state[number])
    return sc.reshape(sc.slice(state, 0, number, 1), state.shape[1:])


def _recurrent(importer: Importer, cell: Cell, x: Value, states: Sequence[Value], weights: Sequence[Value],
               has_biases: bool, layers: int, p: float, is_training: bool, is_both_ways: bool,
               batch_first: bool) -> list[sc.Tensor]:
    """[the result, the last state of each kind]."""
    x, tensors = importer.tensor(x), [importer.tensor(weight) for weight in weights]
    x = x if batch_first else transposed(importer, x, [1, 0, 2])
    ways = 2 if is_both_ways else 1
    count = len(tensors) // (layers * ways)  # of one layer and direction
    last = []
    for layer in range(layers):
        results = []
        for number in range(layer * ways, (layer + 1) * ways):
            result, after = _direction(cell, x, [_state_of(importer, state, number) for state in states],
                                       tensors[number * count:(number + 1) * count], has_biases, number % ways == 1)
            results.append(result)
            last.append([sc.reshape(state, [1] + list(state.shape)) for state in after])
        x = sc.concat(results, 2) if is_both_ways else results[0]
        if is_training and p and layer + 1 < layers:
            x = sc.dropout(x, p) if p < 1 else x * 0.0
    x = x if batch_first else transposed(importer, x, [1, 0, 2])
    return [x] + [sc.concat(list(each), 0) for each in zip(*last)]


@op("aten.lstm.input", keeps_constants=True)
def lstm(importer: Importer, x: Value, states: Sequence[Value], weights: Sequence[Value],
         *options: Any) -> list[sc.Tensor]:
    return _recurrent(importer, _lstm_cell, x, states, weights, *options)


@op("aten.gru.input", keeps_constants=True)
def gru(importer: Importer, x: Value, state: Value, weights: Sequence[Value], *options: Any) -> list[sc.Tensor]:
    return _recurrent(importer, _gru_cell, x, [state], weights, *options)


@op("aten.rnn_tanh.input", keeps_constants=True, of=sc.tanh)
@op("aten.rnn_relu.input", keeps_constants=True, of=sc.relu)
def rnn(importer: Importer, x: Value, state: Value, weights: Sequence[Value], *options: Any,
        of: Unary) -> list[sc.Tensor]:
    return _recurrent(importer, _rnn_cell(of), x, [state], weights, *options)
