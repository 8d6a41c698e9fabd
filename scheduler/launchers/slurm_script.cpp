#include "scheduler/launchers/slurm_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <initializer_list>

#include "core/file.h"
#include "core/program.h"

namespace detol::inline scheduler {
namespace {

// Returns the words as bash reads them back.
std::string quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_quoted(word);
  return text;
}

// Returns whether the user says which part of a node a job takes.
bool says_how_much(const std::vector<std::string>& options) {
  constexpr std::array<std::string_view, 9> kOptions = {
      "--ntasks", "-n", "--cpus", "-c", "--gpus", "--gres", "--exclusive", "--mem", "--mincpus"};
  return std::ranges::any_of(options, [&](const std::string& option) {
    return std::ranges::any_of(kOptions,
                               [&](std::string_view known) { return option.starts_with(known); });
  });
}

std::string job_name(const SlurmJob& job) {
  std::string name = "detol-" + job.study;
  std::ranges::replace_if(
      name,
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; },
      '_');
  return name;
}

std::string directives(const SlurmJob& job) {
  std::vector<std::string> lines = {fmt::format("--job-name={}", job_name(job)),
                                    fmt::format("--nodes={}", job.nodes),
                                    fmt::format("--signal=B:USR1@{}", notice_s(job.time)),
                                    "--requeue",
                                    "--no-kill",
                                    "--open-mode=append"};
  if (!says_how_much(job.options)) lines.emplace_back("--exclusive");
  if (!job.time.empty()) lines.push_back("--time=" + job.time);
  if (!job.partition.empty()) lines.push_back("--partition=" + job.partition);
  lines.push_back("--output=" + shell_quoted(job.log.string()));
  lines.push_back("--chdir=" + shell_quoted(job.folder.string()));
  std::string text;
  for (const std::string& line : lines) text += "#SBATCH " + line + "\n";
  return text;
}

constexpr std::string_view kBody = R"bash(
set -u
successor=
if [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]; then
  successor=$(sbatch --parsable --dependency="afterany:$SLURM_JOB_ID" ${options[@]+"${options[@]}"} "$script")
  successor=${successor%%;*}
  echo "$successor" > "$script.successor"
elif [ -r "$script.successor" ]; then
  successor=$(cat "$script.successor")
fi

"${search[@]}" &
pid=$!
asked=
trap 'asked=yes' TERM  # which Slurm sends to the search, too
trap '[ -n "$asked" ] || kill -USR1 "$pid" 2> /dev/null; asked=yes' USR1
wait "$pid"
code=$?
while kill -0 "$pid" 2> /dev/null; do
  wait "$pid"
  code=$?
done
[ "$code" -ne 130 ] || code=75  # both signals at once: it was ended, and can be resumed

state=$(scontrol -o show job "$SLURM_JOB_ID" | sed -n 's/.* JobState=\([A-Z_]*\).*/\1/p')
if [ "$code" -eq 75 ] && [ "$state" = RUNNING ]; then
  scontrol requeue "$SLURM_JOB_ID" && exit 75
fi
if [ "$code" -ne 75 ] || [ "$state" = CANCELLED ]; then
  [ -z "$successor" ] || scancel "$successor"
  rm -f "$script.successor"
fi
exit "$code"
)bash";

}  // namespace

std::string slurm_script(const SlurmJob& job) {
  return fmt::format(
      "#!/bin/bash\n"
      "# Made by `detol slurm`. To end the search for good: detol study stop {0}, or\n"
      "# scancel --name={1}\n"
      "{2}\n"
      "script={3}\n"
      "options=({4})\n"
      "search=({5})\n"
      "{6}",
      shell_quoted(job.study), job_name(job), directives(job), shell_quoted(job.script.string()),
      quoted(job.options), quoted(job.command), kBody);
}

// "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours[:minutes[:seconds]]".
Result<std::string> submit(const SlurmJob& job) {
  const std::string sbatch = find_program("sbatch");
  if (sbatch.empty())
    return fail(ErrorCode::kUsage,
                "there is no sbatch on the PATH: submit from a machine that has Slurm's programs, "
                "or look at the script with --print");
  constexpr mode_t kExecutable = 0755;
  DETOL_TRY(write_file_durably(job.script, slurm_script(job), kExecutable));
  std::vector<std::string> words = {sbatch, "--parsable"};
  words.insert(words.end(), job.options.begin(), job.options.end());
  words.push_back(job.script.string());
  std::FILE* pipe = ::popen(quoted(words).c_str(), "re");
  if (pipe == nullptr) return fail(ErrorCode::kInternal, "cannot start sbatch");
  std::string number;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) number += static_cast<char>(c);
  if (::pclose(pipe) == 0) return number.substr(0, number.find_first_of(";\n"));
  return fail(ErrorCode::kUsage, fmt::format("{} refused the job; it said why above", sbatch));
}

std::optional<std::int64_t> slurm_seconds(std::string_view text) {
  std::vector<std::int64_t> parts;
  const std::size_t dash = text.find('-');
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("-:", at), text.size());
    std::int64_t part = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, part);
    constexpr std::int64_t kMost = 1'000'000'000;
    if (error != std::errc() || stop != text.data() + end || part < 0 || part > kMost)
      return std::nullopt;
    parts.push_back(part);
    at = end + 1;
  }
  const auto part = [&](std::size_t i) { return i < parts.size() ? parts[i] : 0; };
  if (dash != std::string_view::npos) {
    if (parts.size() > 4 || text.find(':') < dash) return std::nullopt;
    return ((part(0) * 24 + part(1)) * 60 + part(2)) * 60 + part(3);
  }
  if (parts.size() == 1) return part(0) * 60;
  if (parts.size() == 2) return part(0) * 60 + part(1);
  if (parts.size() == 3) return (part(0) * 60 + part(1)) * 60 + part(2);
  return std::nullopt;
}

std::int64_t notice_s(std::string_view time) {
  constexpr std::int64_t kNotice = 180;  // Slurm sends the signal up to 60 s early
  constexpr std::int64_t kShare = 5;     // of a short job
  const auto limit = slurm_seconds(time);
  return limit ? std::clamp(*limit / kShare, std::int64_t{1}, kNotice) : kNotice;
}

}  // namespace detol::inline scheduler
