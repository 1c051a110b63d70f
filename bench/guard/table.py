"""What the guard prints, at most 80 columns wide.

Used by: guard.py. Before it: verdicts, or what an update has changed. After it: the terminal, or the log of a test.
"""

from textwrap import fill

from verdict import figure, sentence

NAME = 46


def print_verdicts(verdicts, differing):
    print(f"{'':{NAME}}{'baseline':>9}{'now':>8}{'allowed':>9}")
    for one in verdicts:
        print(f"{short(one.name)}{figure(one.baseline):>9}{figure(one.now):>8}{figure(one.allowed):>9} {one.state}")
    if differing:
        say("Counts have the wide margin, because the baseline comes from another toolchain: " + "; ".join(differing) + ".")
    for text in filter(None, map(sentence, verdicts)):
        say(text)


def print_changes(path, changed, differing):
    if changed:
        print(f"{'':{NAME}}{'was':>9}{'is':>9}")
    for name, before, after in changed:
        print(f"{short(name)}{figure(before):>9}{figure(after):>9}")
    if differing:
        say("The toolchain is different: " + "; ".join(differing) + ".")
    say(f"{path} is rewritten, with {len(changed)} rows that have changed. Say why in the commit message.")


def short(name):
    return f"{name if len(name) <= NAME else name[:NAME - 3] + '...':{NAME}}"


def say(text):
    print("\n" + fill(text, 80, break_long_words=False, break_on_hyphens=False))
