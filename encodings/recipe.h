#pragma once

// Recipe: how a candidate is trained: everything but the network and the seed. Concrete:
// every choice of the space is made. A value type.

#include <cstdint>
#include <string>

namespace detol {

struct Recipe {
  std::string optimizer = "sgd";  // sgd (momentum), adamw
  double lr = 0.1;                // at this batch size, after warm-up
  double momentum = 0.9;          // sgd; adamw: beta1
  bool nesterov = true;           // sgd
  double beta2 = 0.999;           // adamw
  double epsilon = 1e-8;          // adamw
  double weight_decay = 0;        // sgd: added to the gradient; adamw: decoupled
  std::int64_t batch_size = 64;   // global, over all ranks of a group

  int epochs = 1;                      // full length; the schedule ends here
  std::string loss = "cross_entropy";  // softmax cross-entropy
  double label_smoothing = 0;          // [0, 1)
  std::string schedule = "cosine";     // constant, cosine (to zero at the end)
  double warmup_epochs = 0;            // linear from zero, within `epochs`
  std::string precision = "fp32";
  bool deterministic = true;
  bool sync_batch_norm = false;  // statistics of the batch of all ranks, not of each rank's shard

  int crop_padding = 0;          // random crop after zero padding on every side, in pixels
  bool horizontal_flip = false;  // with probability 1/2
  int cutout = 0;                // side of the square that is hidden in every image; 0: none
};

}  // namespace detol
