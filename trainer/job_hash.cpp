#include "trainer/job_hash.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/hash.h"

namespace detol {
namespace {

// Settings that came later are named only where they are not as they always were: what was begun
// before they came can go on.
std::string later_settings(const Recipe& recipe) {
  const Recipe usual;
  std::string text;
  const auto add = [&](std::string_view name, const auto& is, const auto& always) {
    if (is != always) text += fmt::format(" {}={}", name, is);
  };
  add("cutout", recipe.cutout, usual.cutout);
  add("milestones", recipe.milestones, usual.milestones);
  add("every_epochs", recipe.every_epochs, usual.every_epochs);
  add("gamma", recipe.gamma, usual.gamma);
  add("rise", recipe.rise, usual.rise);
  add("divisor", recipe.divisor, usual.divisor);
  add("final_divisor", recipe.final_divisor, usual.final_divisor);
  add("scale_lr", recipe.scale_lr, usual.scale_lr);
  add("base_batch", recipe.base_batch, usual.base_batch);
  add("trust", recipe.trust, usual.trust);
  add("clip_norm", recipe.clip_norm, usual.clip_norm);
  add("ema", recipe.ema, usual.ema);
  add("compression", recipe.compression, usual.compression);
  add("share", recipe.compression_share, usual.compression_share);
  add("staleness", recipe.staleness, usual.staleness);
  add("mixup", recipe.mixup, usual.mixup);
  return text;
}

}  // namespace

std::uint64_t hash_of(const Job& job, const Dataset& data, std::string_view backend) {
  const Recipe& r = job.candidate.recipe;
  const std::string first =
      fmt::format("{} {} {} {} | {} {} {} {} {} {} {} {} | {} {} {} {} {} {} {} {} | {} {}",
                  job.candidate.arch_hash, job.seed, data.info.fingerprint, backend, r.optimizer,
                  r.lr, r.momentum, r.nesterov, r.beta2, r.epsilon, r.weight_decay, r.batch_size,
                  r.epochs, r.loss, r.label_smoothing, r.schedule, r.warmup_epochs, r.precision,
                  r.deterministic, r.sync_batch_norm, r.crop_padding, r.horizontal_flip);
  return hash64(first + later_settings(r));
}

}  // namespace detol
