#include "core/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "core/utf8.h"

namespace detol::inline core {
namespace {

// What users of other tools write, and what to write here. `what` is that of unknown_name().
struct Elsewhere {
  std::string_view what, word, instead;
};
constexpr std::array kElsewhere = {
    Elsewhere{"word", "loguniform", "float, with log: true"},
    Elsewhere{"word", "log_uniform", "float, with log: true"},
    Elsewhere{"word", "uniform", "float"},
    Elsewhere{"word", "quniform", "float, with step"},
    Elsewhere{"word", "normal", "float, with low and high"},
    Elsewhere{"word", "randint", "int"},
    Elsewhere{"word", "integer", "int"},
    Elsewhere{"word", "choice", "categorical"},
    Elsewhere{"word", "gelu", "silu, the nearest of those there are"},
    Elsewhere{"word", "swish", "silu"},
    Elsewhere{"key", "min", "low"},
    Elsewhere{"key", "max", "high"},
    Elsewhere{"key", "values", "choices"},
    Elsewhere{"key", "options", "choices"},
    Elsewhere{"key", "q", "step"},
    Elsewhere{"key", "learning_rate", "lr"},
    Elsewhere{"key", "wd", "weight_decay"},
    Elsewhere{"key", "batch", "batch_size"},
    Elsewhere{"algorithm", "bohb", "--algorithm tpe --pruner hyperband"},
    Elsewhere{"algorithm", "hyperband", "--pruner hyperband, which goes with any algorithm"},
    Elsewhere{"algorithm", "asha", "--pruner asha, which goes with any algorithm"},
    Elsewhere{"algorithm", "bayesian", "gp"},
    Elsewhere{"algorithm", "bo", "gp"},
    Elsewhere{"algorithm", "botorch", "gp"},
    Elsewhere{"algorithm", "smac", "gp"},
    Elsewhere{"algorithm", "cmaes", "gp, or evolution"},
    Elsewhere{"algorithm", "grid", "sobol, which covers a space evenly"},
    Elsewhere{"option", "--trials", "--budget 20trials"},
    Elsewhere{"option", "--n-trials", "--budget 20trials"},
    Elsewhere{"option", "--timeout", "--budget 2h"},
    Elsewhere{"option", "--time", "--budget 2h"},
    Elsewhere{"option", "--epochs", "--set training.epochs=9"},
    Elsewhere{"option", "--seed", "--set seed=1"},
    Elsewhere{"option", "--gpu", "--device cuda"},
    Elsewhere{"option", "--gpus", "--device cuda"},
    Elsewhere{"option", "--jobs", "--workers"},
    Elsewhere{"option", "--n-jobs", "--workers"},
    Elsewhere{"option", "--sampler", "--algorithm"},
    Elsewhere{"option", "--config", "--space"},
    Elsewhere{"command", "run", "search"},
    Elsewhere{"command", "train", "search, or retrain"},
    Elsewhere{"command", "init", "new"},
    Elsewhere{"command", "list", "studies, or trials"},
    Elsewhere{"command", "ls", "studies, or trials"},
    Elsewhere{"command", "show", "trial, or best"},
    Elsewhere{"command", "evaluate", "test"},
    Elsewhere{"command", "serve", "predict --serve"},
};

// Returns the distance by insertions, deletions, substitutions and swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substituted, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last.back();
}

// Returns a known word that differs by its case alone, or that `word` is a part of: accuracy of
// val_accuracy, max of maximize. The first such word counts.
std::optional<std::string> containing(std::string_view word,
                                      std::span<const std::string_view> known) {
  constexpr std::size_t kShortest = 3;
  for (std::string_view candidate : known) {
    if (same_but_for_case(word, candidate)) return std::string(candidate);
  }
  if (word.size() < kShortest) return std::nullopt;
  for (std::string_view candidate : known) {
    if (candidate.starts_with(word) || candidate.ends_with("_" + std::string(word)))
      return std::string(candidate);
  }
  return std::nullopt;
}

}  // namespace

bool same_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

void end_for_unknown_name(std::string_view name) {
  std::fprintf(stderr, "detol: a defect: no table has %s\n", in_quotes(name).c_str());
  std::abort();
}

std::string join(std::span<const std::string_view> words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string in_quotes(std::string_view text) {
  return "'" + printable(text.substr(0, 80)) + "'";
}

std::optional<std::string> did_you_mean(std::string_view word,
                                        std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 64;  // a longer word is no typo
  if (word.size() > kLongest) return std::nullopt;
  if (auto guess = containing(word, known)) return guess;
  std::size_t nearest = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::optional<std::string> guess;
  for (std::string_view candidate : known) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < nearest && distance < candidate.size()) {
      nearest = distance;
      guess = std::string(candidate);
    }
  }
  return guess;
}

std::string_view said_here(std::string_view what, std::string_view word,
                           std::span<const std::string_view> known) {
  for (const Elsewhere& row : kElsewhere) {
    if (row.what != what || !same_but_for_case(row.word, word)) continue;
    const std::string_view first = row.instead.substr(0, row.instead.find_first_of(", "));
    const bool is_option = first.starts_with("--") && what != "option";
    if (is_option || std::ranges::find(known, first) != known.end()) return row.instead;
  }
  return {};
}

std::string unknown_name(std::string_view what, std::string_view word,
                         std::span<const std::string_view> known) {
  std::string text = fmt::format("unknown {} {}; ", what, in_quotes(word));
  if (const std::string_view instead = said_here(what, word, known); !instead.empty())
    text += fmt::format("write {}; ", instead);
  else if (const auto guess = did_you_mean(word, known))
    text += fmt::format("did you mean '{}'? ", *guess);
  constexpr std::size_t kMost = 100;  // of a wide table's columns
  if (known.size() <= kMost) return text + "known: " + join(known);
  return text +
         fmt::format("known: {} and {} more", join(known.first(kMost)), known.size() - kMost);
}

}  // namespace detol::inline core
