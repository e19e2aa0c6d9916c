"""`treadle completion SHELL`: print the script that lets a shell complete commands, options, values and ids.

The script asks this command for candidates at each Tab, so that it fits whatever is installed.
"""

import argparse

from treadle.cli.completion import find_candidates
from treadle.cli.exit_codes import OK

SCRIPTS = {
    "bash": r"""# treadle completion for bash. In ~/.bashrc: source <(treadle completion bash)
_treadle() {
    local IFS=$'\n'
    COMPREPLY=($(treadle completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
}
complete -o default -F _treadle treadle
""",
    "zsh": r"""#compdef treadle
# treadle completion for zsh. In ~/.zshrc, after compinit: source <(treadle completion zsh)
_treadle() {
    local line
    local -a found described
    found=("${(@f)$(treadle completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in "${(@)found:#}"; do
        described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    if (( $#described )); then _describe -t treadle treadle described; else _files; fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _treadle "$@"; else compdef _treadle treadle; fi
""",
    "fish": r"""# treadle completion for fish: treadle completion fish > ~/.config/fish/completions/treadle.fish
function __treadle_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l found (treadle completion fish -- $words (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c treadle -f -a '(__treadle_complete)'
""",
}


def run(args: argparse.Namespace) -> int:
    """Print the script; or, as the script asks, a line for each candidate."""
    if not args.words:
        print(SCRIPTS[args.shell], end="")
        return OK
    for word, does in find_candidates(args.words):
        print(f"{word}\t{does}")
    return OK
