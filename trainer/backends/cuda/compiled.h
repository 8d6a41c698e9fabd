#pragma once

// Compiled: one candidate as lists of actions: the training of a micro-batch, the update, an
// evaluation. The caller supplies the action `fill`, which writes the images. Private to this
// folder.

#include <memory>
#include <optional>
#include <vector>

#include "trainer/backends/cuda/builder.h"
#include "trainer/backends/cuda/plugin.h"
#include "trainer/backends/cuda/recording.h"
#include "trainer/backends/loss.h"
#include "trainer/collectives/gradient_sums.h"

namespace detol::inline trainer::cuda {

// Report is where a loss is written.
struct Report {
  BatchResult* results = nullptr;  // as in LossCall
  const StepRow* now = nullptr;
  bool adds = false;
};

// Bytes of scratch memory for convolutions and products: usually, and where memory is short.
inline constexpr std::size_t kMostScratch = std::size_t{1} << 30;
inline constexpr std::size_t kLeastScratch = std::size_t{1} << 23;

class Compiled {
 public:
  Compiled(const Network& network, const Recipe& recipe, const Placement& placement,
           std::size_t most_scratch = kMostScratch);

  // Lowers the network, plans and allocates memory, and runs every step of the device once, so that
  // libraries load their code; then zeroes the state. Errors and exceptions as in BackendRow.
  Result<void> compile(const Network& network);
  // Only lowers the network, and returns its tunable convolutions.
  Result<std::vector<TunableConv>> find_tunable_convs(const Network& network);

  Builder& builder() { return builder_; }
  const Builder& builder() const { return builder_; }
  const Recipe& recipe() const { return builder_.recipe(); }
  bool takes_labels() const { return trainer::takes_labels(training_loss_of(recipe())); }
  std::int64_t outputs() const { return outputs_; }
  std::int64_t width() const { return padded(outputs_); }  // of a row of logits
  std::size_t bytes() const { return builder_.bytes(); }

  void* input() const { return inputs_.images->data; }
  std::int32_t* labels() const { return inputs_.labels->as<std::int32_t>(); }
  float* targets() const { return inputs_.targets->as<float>(); }  // unused if takes_labels()
  MixedLabel* mixes() const { return inputs_.mixes->as<MixedLabel>(); }
  const float* logits() const { return logits_->as<float>(); }
  // Copies the logits of the first `images` to the host, without the padding of their rows.
  void read_logits(std::int64_t images, std::span<float> logits) const;
  // Returns the sum of the results of a step's micro-batches, or of an evaluation's runs.
  BatchResult* total() const { return total_->as<BatchResult>(); }

  // Appends forward, loss and backward of micro-batch `index`.
  void append_micro_batch(std::vector<Action>& actions, std::size_t index,
                          const std::function<void()>& fill, const Report& report);
  // Appends the sum over the ranks, if sums_on_device(), and the optimiser's step.
  void append_update(std::vector<Action>& actions);
  // Appends inference on `count` images; the loss is their share of a mean over `batch`.
  void append_evaluation(std::vector<Action>& actions, std::int64_t count, std::int64_t batch,
                         const std::function<void()>& fill, const Report& report);

  // Returns true if append_update() includes the sum of the gradients over the ranks.
  bool sums_on_device() const;
  RankSums& sums() const { return *sums_; }

  // Runs one training step node by node, and adds the seconds of each node to `nodes`.
  void time_step(std::span<NodeSeconds> nodes);

  // Return the numbers and the dropout keys of a step.
  StepRow row_of(const StepSettings& settings) const;
  void keys_of(const StepSettings& settings, std::span<std::uint64_t> keys) const;

 private:
  void make_inputs();
  void make_loss(Value& logits);
  LossCall loss_call(std::int64_t images) const;
  void append_steps(std::vector<Action>& actions, std::size_t first, std::size_t end,
                    const StepContext& context) const;
  void warm_up();

  std::unique_ptr<RankSums> sums_;
  Builder builder_;
  std::int64_t outputs_ = 0;
  std::vector<Step> steps_;
  std::size_t loss_step_ = 0;
  program::Inputs inputs_;
  Buffer *output_ = nullptr, *logits_ = nullptr;  // in the network's type; in floats
  bool converts_ = false;                         // from output_ to logits_
  Buffer* gradient_ = nullptr;                    // of the logits; null: nothing is trained
  Buffer *losses_ = nullptr, *rights_ = nullptr, *total_ = nullptr;
};

}  // namespace detol::inline trainer::cuda
