// Fills a knowledge base with studies, as a search would, but without training:
//
//   fill_base DATABASE FIRST_STUDY STUDIES TRIALS EPOCHS [SECONDS]
//
// Each trial has ten choices and a network of its own, whose text has 187 bytes (the median of
// configs/cnn_large.yaml is 186), and reports two metrics for EPOCHS epochs. With SECONDS it
// instead commits one trial after the other, each as five transactions, for that long, and prints
// the time of each commit in microseconds.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "core/rng.h"
#include "knowledge/ledger.h"

namespace {

using namespace detol;  // NOLINT

constexpr int kStepsPerEpoch = 469;

constexpr const char* kSpace = R"(version: 1
study: {}
data: {{format: idx, path: /usr/share/datasets/fashion-mnist}}
architecture:
  type: chain
  stem: {{op: conv_bn_relu, channels: {{type: categorical, choices: [16, 32]}}}}
  stages:
    - repeat: 2
      depth: {{type: int, low: 1, high: 3}}
      block:
        op: {{type: categorical, choices: [residual, mbconv]}}
        kernel: 3
  head: {{op: global_avg_pool_linear, dropout: {{type: float, low: 0.0, high: 0.5}}}}
parameters:
  optimizer: {{type: categorical, choices: [sgd, adamw]}}
  lr: {{type: float, low: 1.0e-9, high: 1.0}}
  weight_decay: {{type: float, low: 0.0, high: 0.01}}
  batch_size: {{type: categorical, choices: [64, 128]}}
training: {{epochs: 10}}
objectives: [{{metric: val_accuracy, direction: maximize}}]
search: {{algorithm: portfolio}}
budget: 1cpu-h
)";

std::vector<Event> trial(TrialId id, int epochs, Rng& rng) {
  std::vector<Event> events;
  event::Asked asked;
  asked.trial = id;
  asked.params = {{"optimizer", std::string("adamw")},
                  {"lr", rng.uniform()},
                  {"weight_decay", rng.uniform() * 1e-3},
                  {"batch_size", std::int64_t{64}},
                  {"architecture.stem.channels", std::int64_t{32}},
                  {"architecture.stages[0].depth", std::int64_t{2}},
                  {"architecture.stages[0].block.op", std::string("residual")},
                  {"architecture.stages[1].depth", std::int64_t{1}},
                  {"architecture.stages[1].block.op", std::string("mbconv")},
                  {"architecture.head.dropout", rng.uniform() * 0.5}};
  asked.proposer = "portfolio";
  asked.arch_hash = fmt::format("{:016x}", rng.next());
  asked.network_params = 123456;
  asked.flops = 12345678;
  asked.at_s = 1.7e9 + static_cast<double>(id);
  events.emplace_back(std::move(asked));
  events.emplace_back(event::Started{id, 1, "local-1", 1.7e9 + static_cast<double>(id)});
  double accuracy = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    accuracy = 1 - rng.uniform() / (epoch + 1);
    events.emplace_back(event::Reported{id,
                                        1,
                                        epoch,
                                        {{"val_accuracy", accuracy}, {"val_loss", 1 - accuracy}},
                                        12345678.0 * 54000 * epoch,
                                        1 + rng.uniform(),
                                        std::int64_t{epoch} * kStepsPerEpoch});
  }
  events.emplace_back(event::Told{id,
                                  TrialState::kComplete,
                                  {},
                                  Measured{{accuracy}, static_cast<double>(epochs), 1e12, false},
                                  1.7e9});
  return events;
}

// Returns the networks of the trials among the events.
std::vector<Fact> networks_of(std::span<const Event> events) {
  constexpr std::string_view kGraph =
      "1 3x32x32 c32k3s2 b r ck5w b r c64 b r 2(c192 b s ck5w b s p@1 c16 s c192 g *@4,1 c64 b "
      "+@1,12) c128s2 b r 3(ck3 b r ck3 b +@1,6 r) c256s2 b r 2(ck3 b r ck3 b +@1,6 r o0.25) "
      "p o0.125 d10b";
  std::vector<Fact> networks;
  for (const Event& event : events) {
    const auto* asked = std::get_if<event::Asked>(&event);
    if (asked == nullptr) continue;
    networks.push_back({kNetworkFact, asked->arch_hash,
                        fmt::format(R"({{"graph":"{}","params":{},"flops":{}}})", kGraph,
                                    *asked->network_params, *asked->flops)});
  }
  return networks;
}

StudyRecord record_of(int number) {
  StudyRecord record;
  record.name = fmt::format("s{}", number);
  record.config = fmt::format(kSpace, record.name);
  record.budget = "1cpu-h";
  record.objectives = {maximize("val_accuracy")};
  record.created_s = 1.7e9;
  return record;
}

int fail_with(const Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  return 1;
}

int commit_for(Ledger& ledger, StudyId study, int epochs, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  Rng rng(7);
  for (TrialId id = 0; Clock::now() < end; ++id) {
    const std::vector<Event> events = trial(id, epochs, rng);
    const std::size_t step = events.size() / 5 + 1;
    for (std::size_t first = 0; first < events.size(); first += step) {
      const auto part = std::span(events).subspan(first, std::min(step, events.size() - first));
      const auto began = Clock::now();
      if (const auto done = ledger.append(study, part, networks_of(part)); !done)
        return fail_with(done.error());
      fmt::print(
          "{}\n",
          std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began).count());
    }
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) {
    fmt::print(stderr, "fill_base DATABASE FIRST_STUDY STUDIES TRIALS EPOCHS [SECONDS]\n");
    return 2;
  }
  const int first = std::atoi(arguments[2]), studies = std::atoi(arguments[3]);
  const auto trials = static_cast<TrialId>(std::atoi(arguments[4]));
  const int epochs = std::atoi(arguments[5]);
  auto ledger = Ledger::open(arguments[1]);
  if (!ledger) return fail_with(ledger.error());
  for (int number = first; number < first + studies; ++number) {
    const auto study = (*ledger)->create_study(record_of(number));
    if (!study) return fail_with(study.error());
    if (count > 6) return commit_for(**ledger, *study, epochs, std::atof(arguments[6]));
    Rng rng(static_cast<std::uint64_t>(number));
    constexpr TrialId kTogether = 100;
    for (TrialId id = 0; id < trials; id += kTogether) {
      std::vector<Event> events;
      for (TrialId i = id; i < std::min(trials, id + kTogether); ++i) {
        for (Event& event : trial(i, epochs, rng)) events.push_back(std::move(event));
      }
      if (const auto done = (*ledger)->append(*study, events, networks_of(events)); !done)
        return fail_with(done.error());
    }
    const Event end = event::StudyState{StudyPhase::kDone, "1cpu-h", 1.7e9};
    if (const auto done = (*ledger)->append(*study, std::span(&end, 1)); !done)
      return fail_with(done.error());
  }
  return 0;
}
