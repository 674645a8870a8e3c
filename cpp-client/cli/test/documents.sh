# The command line's own documents: help, manual page, completions, docs/command.md.
. "${0%/*}/tap.sh"
commands=$(gatepost --help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }')
ok 'there are commands' test "$(wc -w <<<"$commands")" -ge 17
for command in $commands; do
  g "$command" --help
  like "$command has help" "$status $out" "^0 Usage: gatepost $command "
  is "... of at most 80 columns" "$(awk 'length > 80 && !/^Usage|^\{|  -/' out.txt)" ''
  ok "... and is in the document" grep -qF "gatepost $command" "$GATEPOST_TREE/docs/command.md"
done
gatepost man >page.1
for command in run hold acquire; do
  like "$command --help says how permits are waited for" "$(gatepost "$command" --help | tr -s ' \n' ' ')" 'in the server.s queue, but for permits by asking again and again'
done
like '--help says what a timeout of 0s is' "$(gatepost --help | tr -s ' \n' ' ')" ' 0s for as long as it takes'
section() { awk -v from="$1" -v to="$2" 'index($0, from) == 1 { on = 1; next } index($0, to) == 1 { on = 0 } on' "$GATEPOST_TREE/docs/command.md"; }
members=$(section '## hold' '```python' | grep '^| `' | grep -oE '`[a-z_]+`' | tr -d '`' | sort -u)
ok 'hold has a table of events and their members' test "$(wc -w <<<"$members")" -ge 12
for member in $members; do
  ok "hold --help has $member" grep -qF "\"$member\"" <(gatepost hold --help)
done
# What a value is is shown whole.
gatepost completion zsh >specs.zsh
for pair in 'metrics --listen [HOST:]PORT' 'protect --issuer ISSUER' 'run --ttl DURATION' 'timeline --svg FILE'; do
  read -r command option type <<<"$pair"
  is "help has $option $type" "$(gatepost "$command" --help | sed -nE "s/^  $option ([^ ]+).*/\\1/p")" "$type"
  ok '... the page too' grep -qxF ".B ${option//-/\\-} $type" page.1
  wanted=$(sed 's/[]:[]/\\&/g' <<<"$type")
  ok '... and completions' grep -qF "]:$wanted:" <(grep -F "'$option[" specs.zsh)
done
is 'no type is cut' "$(for command in $commands; do gatepost "$command" --help; done | sed -nE 's/^  (-., )?--[a-z-]+ ([^ ]+).*/\2/p' | grep -vE '^([A-Z]+|\[HOST:\]PORT)$')" ''
if command -v man >/dev/null && command -v groff >/dev/null; then
  is 'the page is without warnings' "$(MANROFFSEQ='' MANWIDTH=100 LC_ALL=C.UTF-8 man --warnings -l page.1 2>&1 >/dev/null)" ''
fi
for command in $commands; do ok "the page has $command" grep -qF ".SS gatepost ${command//-/\\-} " page.1; done
for option in $(gatepost run --help | grep -oE '^  --[a-z-]+' | tr -d ' '); do
  ok "the page has $option" grep -qF -- "${option//-/\\-}" page.1
  ok "the document has $option" grep -qF -- "\`$option" "$GATEPOST_TREE/docs/command.md"
done
for status in 64 69 75 76 77 78; do ok "the document has status $status" grep -qE "^\| $status \|" "$GATEPOST_TREE/docs/command.md"; done

# Completions, in the shells themselves.
gatepost acquire complete/me --ttl 5m >/dev/null
cat >complete.bash <<'SH'
source <(gatepost completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_gatepost
printf '%s\n' "${COMPREPLY[@]}"
SH
completes() { bash complete.bash "$@"; }
is 'bash: commands' "$(completes gatepost re | sort | tr '\n' ' ')" 'release renew request-yield '
is 'bash: options' "$(completes gatepost run --el)" '--elect'
is 'bash: options of every command' "$(completes gatepost ls --db)" '--dbname'
is 'bash: names, by asking the server' "$(completes gatepost status comp)" 'complete/me'
is 'bash: a value is no argument' "$(completes gatepost run --ttl 30s comp)" 'complete/me'
is 'bash: shells' "$(completes gatepost completion f)" fish
like 'bash: commands to run' "$(completes gatepost run x -- ech)" 'echo'
if command -v zsh >/dev/null; then
  gatepost completion zsh >_gatepost
  ok 'zsh: takes it' zsh -n _gatepost
  cat >complete.zsh <<'SH'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=($PWD \$fpath); autoload -Uz compinit; compinit -u -D; print re''ady"
zpty -r shell line '*ready*'
zpty -w -n shell $'gatepost rele\t'
zpty -r shell line '*rele[^ ]#ase*'
print -r -- "$line"
zpty -d shell
SH
  like 'zsh: completes a command' "$(timeout 60 zsh -o extendedglob complete.zsh 2>&1)" 'gatepost rele.*ase'
fi
if command -v fish >/dev/null; then
  gatepost completion fish >gatepost.fish
  fish_completes() { HOME=$PWD fish -c "source gatepost.fish; complete -C '$1'" 2>&1 | cut -f1; }
  is 'fish: commands' "$(fish_completes 'gatepost re' | sort | tr '\n' ' ')" 'release renew request-yield '
  like 'fish: options' "$(fish_completes 'gatepost run --el')" '--elect'
  is 'fish: names' "$(fish_completes 'gatepost status comp')" 'complete/me'
fi

# The examples of the document, each after the ones before.
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$GATEPOST_TREE/docs/command.md" >examples.sh
ok 'there are examples' test "$(wc -l <examples.sh)" -ge 10
printf '#!/bin/sh\nexit 0\n' | tee make-report import-next scheduler >/dev/null
chmod +x make-report import-next scheduler
out=$(PATH=$PWD:$PATH bash -euo pipefail examples.sh 2>&1)
is 'the examples of docs/command.md run' "$?" 0
[ $failures -eq 0 ] || printf '%s\n' "$out" | sed 's/^/#   /'
# README's cron line.
cron=$(awk '/^```cron$/ { on = 1; next } /^```$/ { on = 0 } on' "$GATEPOST_TREE/README.md")
like 'README has a cron line' "$cron" $'\n''[0-9]+ [0-9]+ \* \* \* +gatepost run '
line=${cron##* \* \* \* }
line=${line//\\%/%}
is 'README has the script beside it' "$(awk '/^```sh make-report$/ { print "yes" }' "$GATEPOST_TREE/README.md")" yes
awk '/^```sh make-report$/ { on = 1; next } /^```$/ { on = 0 } on' "$GATEPOST_TREE/README.md" >make-report
chmod +x make-report
query "$(grep -E "^(CREATE TABLE daily|.*fence_protect\('daily')" "$GATEPOST_TREE/README.md")" >/dev/null
for host in one two three; do
  out=$(PATH=$PWD:$PATH sh -c "$line" 2>&1)
  is "README's cron line on host $host: status and output" "$? $out" '0 '
done
is 'the report was made once' "$(query 'SELECT count(*) FROM daily')" 1
done_testing
