#include "trainer/ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "encodings/network/canonical.h"
#include "encodings/network/cost.h"
#include "trainer/predict.h"
#include "trainer/probabilities.h"
#include "trainer/test_metrics.h"

namespace detol::inline trainer {
namespace {

constexpr std::int64_t kImagesAtOnce = 4096;  // whose inputs are in memory

std::string prefix_of(std::size_t member) {
  return fmt::format("member{}.", member + 1);
}

// Adds a member's layers; returns its output.
NodeId add_member(const Network& network, const std::string& prefix, NetworkBuilder& builder) {
  std::vector<NodeId> places = {builder.input()};
  for (const Node& node : network.nodes().subspan(1)) {
    std::vector<NodeId> inputs;
    for (const NodeId input : node.inputs) inputs.push_back(places[input]);
    places.push_back(builder.add(node.layer, std::move(inputs), prefix + node.name));
  }
  return places.back();
}

// Returns the probabilities that vote: K of each image, or 2 K where each output has two classes;
// of a regression the predictions themselves.
std::vector<double> votes_of(TaskKind task, std::span<const float> outputs) {
  std::vector<double> votes;
  if (task == TaskKind::kRegression) return {outputs.begin(), outputs.end()};
  if (task == TaskKind::kClassification) return softmax(outputs);
  for (const float logit : outputs) {
    votes.push_back(sigmoid(double{logit}));
    votes.push_back(sigmoid(-double{logit}));
  }
  return votes;
}

double bounded_log(double probability) {
  return std::log(std::max(probability, double{kLeastProbability}));
}

// Appends the outputs that the sums of the votes of one image mean.
void append_outputs(TaskKind task, std::span<const double> votes, std::vector<float>& outputs) {
  if (task == TaskKind::kBinary || task == TaskKind::kMultiLabel) {
    for (std::size_t k = 0; k + 1 < votes.size(); k += 2)
      outputs.push_back(static_cast<float>(bounded_log(votes[k]) - bounded_log(votes[k + 1])));
    return;
  }
  for (const double vote : votes)
    outputs.push_back(static_cast<float>(task == TaskKind::kRegression ? vote : bounded_log(vote)));
}

// Greedy: the ensemble so far, as sums of votes.
class Greedy {
 public:
  explicit Greedy(const Selection& selection)
      : selection_(selection),
        task_(selection.data.info.task.kind),
        width_(static_cast<std::size_t>(selection.data.info.task.classes)) {
    for (const std::vector<float>& outputs : selection.outputs)
      votes_.push_back(votes_of_all(outputs));
    sum_.assign(votes_.front().size(), 0);
    counts_.assign(votes_.size(), 0);
  }

  // Adds the network that is best to add; returns the loss with it.
  double add_one() {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < votes_.size(); ++i) {
      const double loss = loss_with(i);
      if (loss < least) best = i, least = loss;
    }
    for (std::size_t v = 0; v < sum_.size(); ++v) sum_[v] += votes_[best][v];
    ++counts_[best];
    ++size_;
    return least;
  }

  std::vector<float> shares() const {
    std::vector<float> shares;
    for (const int count : counts_)
      shares.push_back(static_cast<float>(count) / static_cast<float>(size_));
    return shares;
  }

 private:
  std::vector<double> votes_of_all(std::span<const float> outputs) const {
    std::vector<double> all;
    for (std::size_t at = 0; at < outputs.size(); at += width_) {
      const std::vector<double> votes = votes_of(task_, outputs.subspan(at, width_));
      all.insert(all.end(), votes.begin(), votes.end());
    }
    return all;
  }

  double loss_with(std::size_t network) const {
    std::vector<float> outputs;
    std::vector<double> votes(sum_.size() / static_cast<std::size_t>(selection_.range.count));
    for (std::size_t at = 0; at < sum_.size(); at += votes.size()) {
      for (std::size_t v = 0; v < votes.size(); ++v)
        votes[v] = (sum_[at + v] + votes_[network][at + v]) / (size_ + 1);
      append_outputs(task_, votes, outputs);
    }
    return metrics_of(selection_.data, selection_.range, outputs, selection_.recipe, {"val_loss"})
        .front();
  }

  const Selection& selection_;
  const TaskKind task_;
  const std::size_t width_;  // outputs of an image
  std::vector<std::vector<double>> votes_;
  std::vector<double> sum_;  // of the votes of those that were added
  std::vector<int> counts_;
  int size_ = 0;
};

}  // namespace

Result<Network> join(const std::vector<const Network*>& members) {
  const Network& first = *members.front();
  NetworkBuilder builder(first.input_shape());
  std::vector<NodeId> outputs;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Network& member = *members[i];
    if (member.input_shape() != first.input_shape() ||
        member.output().shape != first.output().shape)
      return fail(ErrorCode::kInput, "the members of an ensemble are networks for other data");
    outputs.push_back(add_member(member, prefix_of(i), builder));
  }
  if (outputs.size() == 1) return builder.build(outputs.front());
  return builder.build(builder.add({.kind = LayerKind::kConcat}, outputs, "members"));
}

Weights join(const Network& joined, const std::vector<const Weights*>& members) {
  std::map<std::string, const Tensor*> by_name;
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const Tensor& tensor : *members[i]) by_name[prefix_of(i) + tensor.name] = &tensor;
  }
  Weights weights;
  for (const NetworkParameter& parameter : joined.parameters()) {
    weights.push_back(*by_name.at(parameter.name));
    weights.back().name = parameter.name;
  }
  return weights;
}

std::vector<float> vote(TaskKind task, std::span<const float> shares, std::size_t width,
                        std::span<const float> outputs) {
  std::vector<float> all;
  for (std::size_t image = 0; image < outputs.size(); image += shares.size() * width) {
    std::vector<double> sums;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const std::vector<double> votes = votes_of(task, outputs.subspan(image + i * width, width));
      sums.resize(votes.size());
      for (std::size_t v = 0; v < votes.size(); ++v) sums[v] += double{shares[i]} * votes[v];
    }
    append_outputs(task, sums, all);
  }
  return all;
}

Result<std::vector<float>> outputs_of(const Voters& voters, const Dataset& data, Range range,
                                      std::string_view backend,
                                      const std::function<void()>& on_progress) {
  const Task& task = data.info.task;
  std::vector<float> all;
  for (std::int64_t done = 0; done < range.count; done += kImagesAtOnce) {
    const Range part{range.first + done, std::min(kImagesAtOnce, range.count - done)};
    DETOL_ASSIGN(std::vector<float> outputs,
                 logits_of(voters.network, voters.weights, normalised_images(data, part), backend));
    if (!voters.shares.empty())
      outputs = vote(task.kind, voters.shares, static_cast<std::size_t>(task.classes), outputs);
    all.insert(all.end(), outputs.begin(), outputs.end());
    on_progress();
  }
  return all;
}

Result<Candidate> join_candidates(const std::vector<const Candidate*>& members) {
  std::vector<const Network*> networks;
  for (const Candidate* member : members) networks.push_back(&member->network);
  DETOL_ASSIGN(Network network, join(networks));
  DETOL_ASSIGN(const Cost cost, cost_of(network));
  const std::uint64_t hash = canonical_hash(network);
  return Candidate{std::move(network), members.front()->recipe, cost, hash};
}

std::vector<float> select_ensemble(const Selection& selection) {
  Greedy greedy(selection);
  std::vector<float> best;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < selection.size; ++i) {
    const double loss = greedy.add_one();
    if (loss >= least && !best.empty()) continue;
    least = loss;
    best = greedy.shares();
  }
  return best;
}

}  // namespace detol::inline trainer
