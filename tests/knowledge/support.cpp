#include "tests/knowledge/support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace detol::testing_support {
namespace {

std::string describe_value(const Value& value) {
  return fmt::format("{}:{}", value.index(), to_text(value));
}

struct Describe {
  std::string operator()(const event::Asked& e) const {
    std::string params;
    for (const auto& [name, value] : e.params)
      params += fmt::format(" {}={}", name, describe_value(value));
    return fmt::format("asked {}{} by {} {} {} {} at {}", e.trial, params, e.proposer, e.arch_hash,
                       e.network_params.value_or(-1), e.flops.value_or(-1), e.at_s);
  }
  std::string operator()(const event::Started& e) const {
    return fmt::format("started {} {} {} at {}", e.trial, e.attempt, e.worker, e.at_s);
  }
  std::string operator()(const event::Reported& e) const {
    std::string metrics;
    for (const auto& [name, value] : e.metrics) metrics += fmt::format(" {}={}", name, value);
    return fmt::format("reported {} {} {}{} {} {}{}", e.trial, e.attempt, e.epoch, metrics, e.work,
                       e.train_s, e.is_best ? "" : " worse");
  }
  std::string operator()(const event::Told& e) const {
    std::string outcome;
    if (const auto* measured = std::get_if<Measured>(&e.outcome)) {
      outcome = fmt::format("[{}] {} {} {}", fmt::join(measured->values, ","), measured->fidelity,
                            measured->work, measured->stopped_early);
    } else {
      const auto& failed = std::get<Failed>(e.outcome);
      outcome = fmt::format("{} {} {}", to_text(failed.cause), failed.fidelity, failed.work);
    }
    const auto cause = cause_of(e.outcome);
    return fmt::format("told {} {} '{}' '{}' {} at {}", e.trial, to_text(e.state),
                       cause ? to_text(*cause) : "", to_text(e.reason), outcome, e.at_s);
  }
  std::string operator()(const event::Requeued& e) const {
    return fmt::format("requeued {} {} '{}'", e.trial, e.attempt, to_text(e.reason));
  }
  std::string operator()(const event::Refit& e) const {
    return fmt::format("refit {} {} {} [{}] at {}", e.model, e.version, e.observations,
                       fmt::join(e.parameters, ","), e.at_s);
  }
  std::string operator()(const event::AlgorithmChosen& e) const {
    std::string seconds;
    for (const auto& [algorithm, time] : e.seconds)
      seconds += fmt::format(" {}={}", algorithm, time);
    return fmt::format("chosen '{}' '{}'{} at {}", e.key, e.algorithm, seconds, e.at_s);
  }
  std::string operator()(const event::Source& e) const {
    std::string trials;
    for (const event::Source::Trial& trial : e.trials) {
      for (const auto& [name, value] : trial.params)
        trials += fmt::format(" {}={}", name, describe_value(value));
      trials +=
          fmt::format(" [{}] {} {};", fmt::join(trial.values, ","), trial.fidelity, trial.work);
    }
    return fmt::format("source {} '{}'{}{}", e.study, e.config, trials,
                       e.has_same_data ? " same data" : "");
  }
  std::string operator()(const event::Model& e) const {
    std::string metrics;
    for (const auto& [name, value] : e.metrics) metrics += fmt::format(" {}={}", name, value);
    for (const auto& [name, low, high] : e.intervals)
      metrics += fmt::format(" {}=[{}, {}]", name, low, high);
    return fmt::format("model {} of {} {} {} '{}' '{}' {} {} {} {} {} {} {}{} {} {} at {}", e.model,
                       e.trial, to_text(e.kind), to_text(e.state), e.failure, e.reason, e.seed,
                       e.epochs, e.trained_on, e.began_from, e.first, e.network_params.value_or(-1),
                       e.flops.value_or(-1), metrics, e.dataset, e.folder, e.at_s);
  }
  std::string operator()(const event::Accounted& e) const {
    return fmt::format("accounted {} {}", e.wall_s, e.device_s);
  }
  std::string operator()(const event::StudyState& e) const {
    return fmt::format("state {} {} at {} {}", to_text(e.state), e.budget, e.at_s, e.backend);
  }
};

}  // namespace

std::string describe(const Event& event) {
  return std::visit(Describe{}, event);
}

std::vector<std::string> describe(const std::vector<Event>& events) {
  std::vector<std::string> lines;
  for (const Event& event : events) lines.push_back(describe(event));
  return lines;
}

std::string describe(const std::vector<Cell>& row) {
  std::vector<std::string> cells;
  for (const Cell& cell : row) {
    cells.emplace_back();
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) cells.back() = std::to_string(*whole);
    if (const auto* real = std::get_if<double>(&cell)) cells.back() = fmt::format("{}", *real);
    if (const auto* text = std::get_if<std::string>(&cell)) cells.back() = *text;
  }
  return fmt::format("{}", fmt::join(cells, "|"));
}

}  // namespace detol::testing_support
