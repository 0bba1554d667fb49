"""Functions that are made, called and thrown away all the time, so that other code soon lies where theirs was. What
belongs together can be told from the names: function made_N, file <file N>, line N."""
import sys
import time

end = time.perf_counter() + float(sys.argv[1])
number = 0
while time.perf_counter() < end:
    number = number % 900 + 1
    place = {}
    exec(compile("\n" * (number - 1) + "def made_%d(n): return [i * i for i in range(n)] and n and (made_%d(n // 2) or 1)"
                 % (number, number), "<file %d>" % number, "exec"), place)
    place["made_%d" % number](2000)
