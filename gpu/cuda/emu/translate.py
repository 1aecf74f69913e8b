"""Rewrites the CUDA-only syntax of one source file for the host compiler: launches and dynamic shared memory."""
import re
import sys


def match(text, i, open_, close):
    depth = 0
    while True:
        if text[i] in open_:
            depth += 1
        elif text[i] in close:
            depth -= 1
            if depth == 0:
                return i
        i += 1


def launches(text):
    out, at = [], 0
    while True:
        i = text.find("<<<", at)
        if i < 0:
            return "".join(out) + text[at:]
        # The kernel's name, template arguments included, ends at i.
        j, depth = i, 0
        while j > at:
            c = text[j - 1]
            if c == ">":
                depth += 1
            elif c == "<":
                depth -= 1
            elif depth == 0 and not (c.isalnum() or c in "_:"):
                break
            j -= 1
        k = text.index(">>>", i)
        p = text.index("(", k)
        q = match(text, p, "(", ")")
        out.append(text[at:j] + "FG_EMU_LAUNCH((%s), (%s), %s)" % (text[j:i], text[i + 3:k], text[p:q + 1]))
        at = q + 1


def main(src, dst):
    text = open(src).read()
    text = launches(text)
    text = re.sub(r"extern __shared__ (\w+) (\w+)\[\];", r"FG_EMU_SHARED(\1, \2);", text)
    open(dst, "w").write(text)


main(sys.argv[1], sys.argv[2])
