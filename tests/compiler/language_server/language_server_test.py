#!/usr/bin/env python3
"""What an editor shows of modules: language_server_test.py SPLITCAST_LSP_SERVER"""
import sys
import unittest

from editor import File, Server, ranged

PROGRAM = None

# 10 samples on 3 ranks, each of which is 2: pieces of 4, 3 and 3 rows.
MODEL = """\
#p = #sbp.placement<"cpu", [dp = 3, tp = 2]>
#x = #sbp.nd<#p, [S(0), S(1)]>
#w = #sbp.nd<#p, [B, S(0)]>
#sum = #sbp.nd<#p, [S(0), P]>
sbp.variable @w : tensor<4x6xf32, #w>
func.func @f(%x: tensor<10x4xf32, #x> {sbp.name = "image"}) -> tensor<10x6xf32, #sum> {
  %w = sbp.read @w : tensor<4x6xf32, #w>
  %y = nn.matmul %x, %w : (tensor<10x4xf32, #x>, tensor<4x6xf32, #w>) -> tensor<10x6xf32, #sum>
  return %y : tensor<10x6xf32, #sum>
}
"""

X = """\
Argument 0 of `@f`, input "image"

`tensor<10x4xf32>` on "cpu", dp = 3, tp = 2
- dp: split along dimension 0 over 3 ranks
- tp: split along dimension 1 over 2 ranks

160 bytes; 24 to 32 bytes per rank (in the order of the mesh: 32, 32, 24, 24, 24, 24)
"""

Y = """\
Result of `nn.matmul`

`tensor<10x6xf32>` on "cpu", dp = 3, tp = 2
- dp: split along dimension 0 over 3 ranks
- tp: each rank has an addend, and the value is the sum of all

240 bytes; 72 to 96 bytes per rank (in the order of the mesh: 96, 96, 72, 72, 72, 72)
"""

W = """\
Variable `@w`, a parameter

`tensor<4x6xf32>` on "cpu", dp = 3, tp = 2
- dp: every rank has all of it
- tp: split along dimension 0 over 2 ranks

96 bytes; 48 bytes on each of the ranks

Group: "w", from its name

Policy: `enable-zero` decides everything
"""

VARIABLES = """\
#p = #sbp.placement<"cpu", [dp = 4]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
#slot = #sbp.nd<#p, [S(@l, 8 of 64)]>
sbp.group "fc" #sbp.policy<stage = 3>
sbp.variable @fc.w : tensor<10x4xf32, #B> storage #S0 policy #sbp.policy<keep = always>
sbp.variable @fc.w.m : tensor<10x4xf32, #B> storage #S0 update #S0 state_of @fc.w role "m"
sbp.variable @b : tensor<40xf32, #B> storage #slot slot #sbp.slot<@l, 8 of 64> group "fc" frozen
sbp.bucket @l : tensor<64xf32, #B> along "dp" holds [@b] at [8]
func.func @f(%x: tensor<3x5xf64>, %n: i64) {
  %b = sbp.read @b : tensor<40xf32, #B>
  return
}
"""

STORED = """\
As it is stored:
- dp: split along dimension 0 over 4 ranks

160 bytes; 32 to 48 bytes per rank (in the order of the mesh: 48, 48, 32, 32)
"""

SLOT = """\
As it is stored:
- dp: stored from element 8 of the 64 elements of bucket `@l`, which is cut into chunks for 4 ranks

160 bytes; 0 to 64 bytes per rank (in the order of the mesh: 32, 64, 64, 0)
"""


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.server = Server(PROGRAM)
        self.capabilities = self.server.initialize()["capabilities"]

    def tearDown(self):
        self.assertIsNone(self.server.ask("shutdown"))
        self.server.notify("exit")
        self.assertEqual(self.server.end(), 0)

    def open(self, text):
        file = File(self.server, text)
        self.assertEqual(file.diagnostics, [])
        return file


class Hovers(Case):

    def test_values(self):
        file = self.open(MODEL)
        for number in (0, 1):  # where it is defined, and where it is used
            self.assertEqual(file.hover("%x", number), X)
            self.assertEqual(file.hover("%y", number, behind=2), Y)
        self.assertIsNone(file.hover("->"))
        self.assertIsNone(file.hover("}\n", behind=1))

    def test_range_is_that_of_the_token(self):
        file = self.open(MODEL)
        self.assertEqual(file.ask("hover", "%x", 1)["range"], ranged(MODEL, "%x", 1))

    def test_signatures(self):
        words = {
            "S(0 by 2)": "split along dimension 0 over 3 ranks; blocks of 2 stay together",
            "S(0 to [2, 2, 8])": "split along dimension 0 over 3 ranks; the pieces end at 2, 2, 8",
            "S(@g, 4 of 12)": "stored from element 4 of the 12 elements of bucket `@g`, which is cut into chunks for 3 ranks",
            "S(@g, 0 of 12 to [8, 9, 12])": "stored from element 0 of the 12 elements of bucket `@g`, which is cut into chunks "
                                            "for 3 ranks; the chunks end at 8, 9, 12",
            "At(2)": "the ranks at coordinate 2 of 3 have all of it, the others nothing",
            "B": "every rank has all of it",
            "P": "each rank has an addend, and the value is the sum of all",
        }
        pieces = {"S(0 by 2)": "8 to 16 bytes per rank (in the order of the mesh: 16, 8, 8)",
                  "S(0 to [2, 2, 8])": "0 to 24 bytes per rank (in the order of the mesh: 8, 0, 24)",
                  "S(@g, 4 of 12)": "0 to 16 bytes per rank (in the order of the mesh: 0, 16, 16)",
                  "S(@g, 0 of 12 to [8, 9, 12])": "0 to 32 bytes per rank (in the order of the mesh: 32, 0, 0)",
                  "At(2)": "0 to 32 bytes per rank (in the order of the mesh: 0, 0, 32)"}
        for entry, expected in words.items():
            with self.subTest(entry):
                file = self.open(f'#lies = #sbp.nd<#sbp.placement<"cpu", [dp = 3]>, [{entry}]>\n'
                                 "func.func private @f(tensor<8xf32, #lies>)\n"
                                 "func.func @g(%x: tensor<8xf32, #lies>) {\n  return\n}\n")
                self.assertEqual(file.hover("#lies"), f'Signature on "cpu", dp = 3\n- dp: {expected}\n')
                self.assertEqual(file.hover("#lies", 1), file.hover("#lies"))
                self.assertEqual(
                    file.hover("%x"), 'Argument 0 of `@g`\n\n`tensor<8xf32>` on "cpu", dp = 3\n- dp: {}\n\n32 bytes; {}\n'.format(expected, pieces.get(entry, "32 bytes on each of the ranks")))
                file.close()

    def test_sizes(self):
        file = self.open('#p = #sbp.placement<"cpu", [dp = 32], ranks = [{}]>\n'
                         "#s = #sbp.nd<#p, [S(0)]>\n"
                         '#alone = #sbp.nd<#sbp.placement<"cuda", [dp = 1]>, [B]>\n'
                         "func.func @f(%x: tensor<1000x1024xbf16, #s>, %y: tensor<f32, #alone>, %z: tensor<?xf32>) {{\n"
                         "  return\n}}\n".format(", ".join(str(31 - rank) for rank in range(32))))
        self.assertIn("2048000 bytes (2.0 MiB); 63488 to 65536 bytes (64.0 KiB) per rank\n", file.hover("%x"))
        self.assertIn('"cuda", dp = 1\n- dp: every rank has all of it\n\n4 bytes; 4 bytes on the only rank\n',
                      file.hover("%y"))
        self.assertIn("`tensor<?xf32>`\n\nNo signature", file.hover("%z"))
        self.assertIn('Placement on "cpu", dp = 32, on ranks 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, '
                      "16, ...\n", file.hover("#p"))

    def test_variables(self):
        file = self.open(MODEL)
        for token, number in (("@w", 0), ("@w", 1)):
            self.assertEqual(file.hover(token, number), W)
        self.assertEqual(file.hover("sbp.variable"),
                         "`sbp.variable`\n\nA tensor that outlives a step: a parameter, a state of the optimizer, a counter\n\n" + W)
        self.assertEqual(file.hover("sbp.read"), "`sbp.read`\n\nThe value of a variable\n\n" + W)

    def test_decisions_about_variables(self):
        file = self.open(VARIABLES)
        w = file.hover("@fc.w")
        self.assertIn("As the graph reads it: `tensor<10x4xf32>`", w)
        self.assertIn("\n\n" + STORED + "\nGroup: \"fc\", from its name\n\n"
                      "Policy: stage=3,keep=always; `enable-zero` decides the rest\n", w)
        state = file.hover("@fc.w.m")
        self.assertIn("Variable `@fc.w.m`, state `m` of `@fc.w`\n", state)
        self.assertIn("\n\n" + STORED + "\nAs its gradient and update are computed:\n- dp: split", state)
        self.assertIn("Policy: stage=3,keep=always;", state)  # that of its parameter
        bucketed = file.hover("sbp.read")
        self.assertIn("Variable `@b`, frozen: no step updates it\n", bucketed)
        self.assertIn("\n\n" + SLOT + "\nGroup: \"fc\"\n\nPolicy: stage=3;", bucketed)
        self.assertIn("120 bytes\n\nNo signature: not decided yet, or a rank's own tensor\n", file.hover("%x"))
        self.assertEqual(file.hover("%n"), "Argument 1 of `@f`\n\n`i64`\n")

    def test_ops(self):
        file = self.open(MODEL)
        self.assertEqual(file.hover("nn.matmul"), "`nn.matmul`\n\nMatrix products, of which either operand may be transposed\n")
        self.assertEqual(file.hover("func.func"), "`func.func`\n")
        self.assertEqual(file.hover("@f"), "`func.func`\n")

    def test_reasons(self):
        text = MODEL.replace("#sum>\n  return",
                             '#sum> loc(fused<#sbp.row<dp = splits result 0 at 0 by 2, tp = sums operand 0 at 1>>["x"])\n  return')
        file = self.open(text)
        reason = ("Signatures were chosen as follows:\n- dp: the loop over dimension 0 of result 0 is split; 2 iterations stay together\n"
                  "- tp: the loop over dimension 1 of operand 0 is split, and summed: results are addends\n")
        self.assertEqual(file.hover("%y"), Y + "\n" + reason)
        self.assertTrue(file.hover("nn.matmul").endswith("transposed\n\n" + reason))
        for kind, words in (("replicated", "every rank computes all of it"), ("at", "only the ranks at one coordinate compute"),
                            ("linear", "operands are addends, and so are the results"),
                            ("slot", "operands and results lie as slots of a bucket")):
            file.change(text.replace("sums operand 0 at 1", kind))
            self.assertIn(f"- tp: {words}\n", file.hover("%y"))

    def test_what_wanted_a_boxing(self):
        for wanted, words in (
            ('operand 1 of "nn.matmul"', "operand 1 of `nn.matmul` is used in this signature"),
            ('result 0 of "nn.matmul"', "this signature is written for result 0 of `nn.matmul`"),
            ("forward of @w", "forward reads `@w`, which is stored in another signature"),
            ("backward of @w", "backward reads `@w`, which is stored in another signature"),
            ("update of @w", "the update of `@w` computes in this signature"),
            ("assign of @w", "`@w` is assigned this value"),
        ):
            text = MODEL.replace("  return %y : tensor<10x6xf32, #sum>",
                                 '  %b = sbp.boxing %y : tensor<10x6xf32, #sum> -> tensor<10x6xf32, #sbp.nd<#p, [B, B]>> '
                                 f'loc(fused<#sbp.wanted<{wanted}>>["x"])\n  return %y : tensor<10x6xf32, #sum>')
            file = self.open(text)
            self.assertTrue(file.hover("%b").endswith(f"\n\nIt is here because {words}\n"))
            file.close()

    def test_of_a_module_that_does_not_verify(self):
        file = File(self.server, MODEL.replace("#sum = #sbp.nd<#p, [S(0), P]>", "#sum = #sbp.nd<#p, [S(0), B]>"))
        self.assertEqual(len(file.diagnostics), 1)
        self.assertEqual(file.diagnostics[0]["range"], ranged(file.text, "nn.matmul"))
        self.assertEqual(file.hover("%x"), X)
        self.assertIn("- tp: every rank has all of it\n", file.hover("%y", 1))
        self.assertEqual(file.hover("@w", 1), W)

    def test_of_what_is_wrong_itself(self):
        for broken in ("sbp.variable @v : vector<4xf32>", '"sbp.variable"() : () -> ()', '"sbp.group"() : () -> ()',
                       '"sbp.read"() : () -> tensor<4xf32>', "sbp.variable @v : tensor<4xf32> storage #sbp.nd<#p, [S(7), B]>"):
            with self.subTest(broken):
                file = File(self.server, MODEL + broken + "\n")
                self.assertGreaterEqual(len(file.diagnostics), 1)
                name = broken.split("(")[0].split(" ")[0]
                last = file.text.count(name) - 1
                self.assertIn(name.strip('"'), file.hover(name, last))
                self.assertEqual(file.hover("@w"), W)
                file.symbols()
                file.close()


class Places(Case):

    def test_of_values(self):
        file = self.open(MODEL)
        for number in (0, 1):
            self.assertEqual(file.definition("%x", number), [ranged(MODEL, "%x")])
            self.assertEqual(file.references("%x", number), [ranged(MODEL, "%x", 1)])
            self.assertEqual(file.references("%y", number, with_definition=True),
                             [ranged(MODEL, "%y"), ranged(MODEL, "%y", 1)])
        self.assertEqual(file.definition("->"), [])
        self.assertEqual(file.references("nn.matmul"), [])

    def test_of_several_results(self):
        text = """\
func.func @f(%x: tensor<4x2xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %m:2 = nn.row_moments %x {epsilon = 1.0e-05 : f64} : (tensor<4x2xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %m#0, %m#1, %m#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
"""
        file = self.open(text)
        self.assertIn("Result 1 of `nn.row_moments`", file.hover("%m#1", behind=3))
        self.assertNotIn("Result 0", file.hover("%m#1"))
        self.assertIn("Result 0 of `nn.row_moments`", file.hover("%m:2"))
        self.assertIn("Result 1 of `nn.row_moments`", file.hover("%m:2"))
        self.assertEqual(file.definition("%m#1"), [ranged(text, "%m")])
        self.assertEqual(file.references("%m#1"), [ranged(text, "%m#1"), ranged(text, "%m#1", 1)])
        self.assertEqual(len(file.references("%m:2")), 3)

    def test_of_symbols(self):
        file = self.open(VARIABLES)
        name = ranged(VARIABLES, "@fc.w")
        state = ranged(VARIABLES, "@fc.w", 2)
        self.assertEqual(state["start"]["line"], 6)  # state_of @fc.w, of the state's own line
        for number in (0, 2):
            self.assertEqual(file.definition("@fc.w", number), [name])
            self.assertEqual(file.references("@fc.w", number), [state])
            self.assertEqual(file.references("@fc.w", number, with_definition=True), [name, state])
        # A bucket is named in its members' signatures and slots, too.
        self.assertEqual(file.definition("@l", 0), [ranged(VARIABLES, "@l", 2)])
        self.assertEqual(file.references("@l", 2), [ranged(VARIABLES, "@l", 0), ranged(VARIABLES, "@l", 1)])
        self.assertEqual(file.definition("@b", 2), [ranged(VARIABLES, "@b", 0)])

    def test_of_functions_and_schedules(self):
        text = """\
func.func @train.micro() {
  return
}
sbp.schedule @train of 1 {
  sbp.run @train.micro from 0 to 1 takes [] cut []
}
"""
        file = self.open(text)
        self.assertEqual(file.definition("@train.micro", 1), [ranged(text, "@train.micro")])
        self.assertEqual(file.references("@train.micro"), [ranged(text, "@train.micro", 1)])

    def test_of_aliases(self):
        file = self.open(MODEL)
        self.assertEqual(file.definition("#x", 1), [ranged(MODEL, "#x")])
        self.assertEqual(file.references("#x"), [ranged(MODEL, "#x", 1), ranged(MODEL, "#x", 2)])
        self.assertEqual(file.hover("#p"), 'Placement on "cpu", dp = 3, tp = 2\n')

    def test_of_ops_in_the_model(self):
        file = self.open(MODEL.replace("#sum>\n  return", '#sum> loc("matmul"("/models/train.py":12:5))\n  return'))
        self.assertEqual(file.ask("definition", "nn.matmul"),
                         [{"uri": "file:///models/train.py",
                           "range": {"start": {"line": 11, "character": 4}, "end": {"line": 11, "character": 4}}}])
        self.assertEqual(file.ask("definition", "sbp.read"), [])

    def test_in_utf16(self):
        text = 'func.func @f(%x: tensor<4xf32> {sbp.name = "größe😀"}, %y: tensor<5xf32>) {\n  return\n}\n'
        file = self.open(text)
        self.assertIn("tensor<5xf32>", file.hover("%y"))
        self.assertEqual(file.ask("hover", "%y")["range"], ranged(text, "%y"))

    def test_symbols(self):
        def outline(symbols):
            return [(symbol["name"], symbol["kind"], symbol["detail"], outline(symbol.get("children", [])))
                    for symbol in symbols]
        function, variable, group, module, other = 12, 13, 3, 2, 19
        file = self.open(VARIABLES)
        symbols = file.symbols()
        self.assertEqual(outline(symbols), [("fc", group, "sbp.group", []), ("fc.w", variable, "sbp.variable", []),
                                            ("fc.w.m", variable, "sbp.variable", []), ("b", variable, "sbp.variable", []),
                                            ("l", other, "sbp.bucket", []), ("f", function, "func.func", [])])
        self.assertEqual(symbols[1]["selectionRange"], ranged(VARIABLES, "@fc.w"))
        self.assertEqual(symbols[5]["range"]["start"]["line"], 9)
        self.assertEqual(symbols[5]["range"]["end"]["line"], 12)
        # An attribute is the last that the text has.
        file.change("sbp.variable @w : tensor<4xf32> policy #sbp.policy<stage = 3>")
        self.assertEqual(file.symbols()[0]["range"], ranged(file.text, file.text))
        file.change("module @m {\n  func.func private @f()\n}\nmodule {\n  func.func private @g()\n}\n")
        self.assertEqual(outline(file.symbols()), [("m", module, "builtin.module", [("f", function, "func.func", [])]),
                                                   ("g", function, "func.func", [])])


class Diagnostics(Case):

    def test_of_the_parser(self):
        good = MODEL.replace("#x> {", "#x> {")
        file = self.open(good)
        file.change(MODEL.replace("%x, %w", "%nothing, %w"))
        self.assertEqual([(error["range"], error["severity"], error["source"]) for error in file.diagnostics],
                         [(ranged(file.text, "%nothing"), 1, "splitcast")])
        self.assertEqual(file.diagnostics[0]["message"], "use of undeclared SSA value name")
        self.assertIsNone(file.hover("%w"))
        self.assertEqual(file.symbols(), [])
        file.change(MODEL)
        self.assertEqual(file.diagnostics, [])
        self.assertEqual(file.hover("%x"), X)

    def test_of_the_verifier(self):
        file = File(self.server, MODEL.replace("sbp.read @w", "sbp.read @v"))
        self.assertEqual([error["range"] for error in file.diagnostics], [ranged(file.text, "sbp.read")])
        self.assertIn("@v", file.diagnostics[0]["message"])
        self.assertNotIn("relatedInformation", file.diagnostics[0])
        file.change(MODEL)
        self.assertEqual(file.diagnostics, [])

    def test_where_another_place_is_written(self):
        text = MODEL.replace("sbp.read @w : tensor<4x6xf32, #w>", 'sbp.read @v : tensor<4x6xf32, #w> loc("/models/model.mlir":1:1)')
        file = File(self.server, text)
        self.assertEqual([error["range"] for error in file.diagnostics], [ranged(text, "sbp.read")])
        self.assertEqual(file.ask("definition", "sbp.read"), [])

    def test_of_an_op_that_there_is_not(self):
        file = File(self.server, MODEL.replace("nn.matmul", "nn.matmull"))
        self.assertEqual([error["range"] for error in file.diagnostics], [ranged(file.text, "nn.matmull")])

    def test_notes(self):
        text = MODEL + "sbp.variable @w : tensor<f32>\n"
        file = File(self.server, text)
        (error,) = file.diagnostics
        self.assertEqual(error["message"], "redefinition of symbol named 'w'")
        self.assertEqual(error["range"], ranged(text, "sbp.variable", 1))
        self.assertEqual(error["relatedInformation"],
                         [{"location": {"uri": file.uri, "range": ranged(text, "sbp.variable")},
                           "message": "see existing symbol definition here"}])

    def test_end_of_the_text(self):
        for text in ("", "\n", '"sbp.variable"() {sym_name = "v", type = i32, state_of = @v} : () -> ()', "func.func @f(", "func.func @f(\n", '"', "// only words", "\0"):
            with self.subTest(text):
                file = File(self.server, text)
                self.assertEqual(file.symbols(), [])
                file.close()

    def test_text_that_damages_the_parser(self):
        # An op outside of a function names a value of the function, which does not parse.
        text = "%loss = nn.scale %s {value = 2.0 : f64} : (tensor<f32>) -> tensor<f32>\n" + \
            MODEL.replace("  %w = ", "  %s = nn.constant 1.0 : tensor<f32>\n  %loss = nn.constant 1.0 : tensor<f32>\n  %w = ")
        file = File(self.server, text)
        for _ in range(10):
            self.assertIn("%loss", file.diagnostics[0]["message"])
            file.change(MODEL)
            self.assertEqual(file.hover("%x"), X)
            file.change(text)

    def test_changes_of_parts(self):
        file = self.open(MODEL)
        wrong = MODEL.replace("%x, %w", "%z, %w")
        file.change(wrong, [{"range": ranged(MODEL, "%x", 1), "text": "%z"}])
        self.assertEqual([error["range"] for error in file.diagnostics], [ranged(wrong, "%z")])
        file.change(MODEL, [{"range": ranged(wrong, "%z"), "text": "%x"}])
        self.assertEqual(file.diagnostics, [])

    def test_closing(self):
        file = File(self.server, "nonsense")
        self.assertEqual(len(file.diagnostics), 1)
        file.close()
        self.assertEqual(file.diagnostics, [])
        self.assertIn("error", self.server.answer("textDocument/hover", textDocument={"uri": file.uri},
                                                  position={"line": 0, "character": 0}))

    def test_several_modules(self):
        text = MODEL + "// -----\n" + MODEL.replace("%x, %w", "%x, %v") + "// -----\n\n" + VARIABLES
        file = File(self.server, text)
        self.assertEqual([error["range"] for error in file.diagnostics], [ranged(text, "%v")])
        self.assertEqual(file.hover("%y"), Y)
        self.assertIsNone(file.hover("%y", 2))  # of the module that does not parse
        self.assertIn("`tensor<3x5xf64>`", file.hover("tensor<3x5xf64>", behind=-3))
        self.assertEqual(file.definition("@fc.w", 2), [ranged(text, "@fc.w")])
        self.assertEqual([symbol["name"] for symbol in file.symbols()], ["w", "f", "fc", "fc.w", "fc.w.m", "b", "l", "f"])


PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, NOT_INITIALIZED = -32700, -32600, -32601, -32602, -32002


class Malformed(Case):

    def refused(self, code, text):
        message = self.server.receive()
        self.assertIsNone(message["id"])
        self.assertEqual(message["error"]["code"], code)
        self.assertIn(text, message["error"]["message"])

    def test_capabilities(self):
        self.assertEqual(self.capabilities, {"textDocumentSync": {"openClose": True, "change": 1}, "hoverProvider": True,
                                             "definitionProvider": True, "referencesProvider": True,
                                             "documentSymbolProvider": True})

    def test_method(self):
        error = self.server.answer("textDocument/paint")["error"]
        self.assertEqual(error["code"], METHOD_NOT_FOUND)
        self.assertIn("textDocument/paint", error["message"])
        self.server.notify("textDocument/paint")
        self.server.notify("$/setTrace", value="off")

    def test_params(self):
        self.open(MODEL)
        uri = "file:///models/model.mlir"
        for params in ({}, {"textDocument": {"uri": uri}}, {"textDocument": {"uri": 7}, "position": {"line": 0, "character": 0}},
                       {"textDocument": {"uri": "untitled:x"}, "position": {"line": 0, "character": 0}},
                       {"textDocument": {"uri": uri}, "position": {"line": "0", "character": 0}}):
            with self.subTest(params):
                self.assertEqual(self.server.answer("textDocument/hover", **params)["error"]["code"], INVALID_PARAMS)
        for position in ((-1, 0), (0, -1), (1000, 0), (0, 1000), (2**31 - 1, 2**31 - 1)):
            with self.subTest(position):
                self.assertIsNone(self.server.ask("textDocument/hover", textDocument={"uri": uri},
                                                  position={"line": position[0], "character": position[1]}))
        # Of these there is no answer; the server goes on.
        self.server.notify("textDocument/didOpen")
        self.server.notify("textDocument/didChange", textDocument={"uri": "file:///other.mlir", "version": 1},
                           contentChanges=[{"text": ""}])
        self.server.notify("textDocument/didChange", textDocument={"uri": uri, "version": 1}, contentChanges=[
            {"range": {"start": {"line": 900, "character": 0}, "end": {"line": 901, "character": 0}}, "text": ""}])
        self.server.notify("textDocument/didClose", textDocument={"uri": "file:///other.mlir"})

    def test_file_that_is_not_open(self):
        error = self.server.answer("textDocument/definition", textDocument={"uri": "file:///other.mlir"},
                                   position={"line": 0, "character": 0})["error"]
        self.assertEqual(error, {"code": INVALID_PARAMS,
                                 "message": "'/other.mlir' is not open; send textDocument/didOpen before you ask about it"})

    def test_json(self):
        self.server.send_text('{"jsonrpc": "2.0", "id": 1, "method": ')
        self.refused(PARSE_ERROR, "not valid JSON")
        self.server.send_bytes(b"Content-Length: 3\r\n\r\n\xff\xfe\xfd")
        self.refused(PARSE_ERROR, "not valid JSON")
        for text in ("[]", "7", "null", "{}", '{"id": 1, "method": "shutdown"}', '{"jsonrpc": "1.0", "id": 1, "method": "shutdown"}'):
            self.server.send_text(text)
            self.refused(INVALID_REQUEST, "JSON-RPC 2.0")
        self.server.send_text('{"jsonrpc": "2.0", "id": 9, "result": null}')
        self.assertEqual(self.open(MODEL).hover("%x"), X)

    def test_headers(self):
        for header in (b"\r\n", b"Content-Type: text\r\n\r\n", b"Content-Length: many\r\n\r\n", b"Content-Length: -1\r\n\r\n",
                       b"Content-Length: 99999999999999999999\r\n\r\n", b"Content-Length: 9999999999\r\n\r\n"):
            self.server.send_bytes(header)
            self.refused(PARSE_ERROR, "Content-Length")
        self.assertEqual(self.open(MODEL).hover("%x"), X)


class Turns(unittest.TestCase):

    def setUp(self):
        self.server = Server(PROGRAM)

    def test_before_initialize(self):
        self.server.notify("textDocument/didOpen", textDocument={"uri": "file:///a.mlir", "languageId": "mlir",
                                                                 "version": 1, "text": "nonsense"})
        self.assertEqual(self.server.answer("shutdown")["error"]["code"], NOT_INITIALIZED)
        self.server.initialize()
        self.assertEqual(self.server.answer("initialize", capabilities={})["error"]["code"], INVALID_REQUEST)
        self.server.ask("shutdown")
        self.assertEqual(self.server.answer("shutdown")["error"]["code"], INVALID_REQUEST)
        self.server.notify("exit")
        self.assertEqual(self.server.end(), 0)

    def test_exit_without_shutdown(self):
        self.server.initialize()
        self.server.notify("exit")
        self.assertEqual(self.server.end(), 1)

    def test_editor_that_ends(self):
        self.server.initialize()
        self.server.send_bytes(b"Content-Length: 100\r\n\r\n{")
        self.assertEqual(self.server.end(), 1)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
