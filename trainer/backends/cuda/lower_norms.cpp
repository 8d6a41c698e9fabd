// Batch norm with its fused tail, and layer norm.
//
// Synchronised batch norm adds up its statistics over the ranks in the middle of the step: as work
// of the stream where the ranks' sums are on the device, else by the host.

#include "trainer/backends/cuda/lower.h"

namespace detol::inline trainer::cuda {
namespace {

// Norm stores what both directions share; it lives as long as the candidate.
struct Norm : program::NormTensors {
  Type type;
  std::int64_t rows = 0, channels = 0, positions = 0;
  bool relu = false;
  const Buffer *x = nullptr, *addend = nullptr, *y = nullptr;
  Buffer *mean = nullptr, *scale = nullptr, *inverse = nullptr, *mean_g = nullptr, *slope = nullptr;
  Buffer* shared = nullptr;  // if synchronised
  Buffer* scratch = nullptr;

  NormCall call(const StepContext& context) const {
    return {.type = type,
            .rows = context.shard.count * positions,
            .rows_held = rows,
            .channels = channels,
            .x = x->data,
            .addend = addend != nullptr ? addend->data : nullptr,
            .y = y->data,
            .relu = relu,
            .gamma = gamma->master,
            .beta = beta->master,
            .running_mean = running_mean->master,
            .running_var = running_var->master,
            .mean = mean->as<float>(),
            .scale = scale->as<float>(),
            .inverse = inverse->as<float>(),
            .mean_g = mean_g->as<float>(),
            .slope = slope->as<float>(),
            .gamma_gradient = gamma->gradient.as<float>(),
            .beta_gradient = beta->gradient.as<float>(),
            .shared = shared != nullptr ? shared->as<double>() : nullptr,
            .scratch = scratch->data};
  }
  std::size_t shared_count() const { return static_cast<std::size_t>(2 * channels + 1); }
};

using SharedNorm = std::shared_ptr<const Norm>;

// Adds a step that sums `shared` over the ranks, if batch norm is synchronised.
void write_sum(Builder& b, const SharedNorm& norm, bool always) {
  if (norm->shared == nullptr) return;
  RankSums& sums = b.sums();
  Run run = [norm, &sums, always](const StepContext& context) {
    if (always || context.training) sums.sum(norm->shared->as<double>(), norm->shared_count());
  };
  sums.is_on_device() ? b.step({norm->shared}, std::move(run))
                      : b.host_step({norm->shared}, std::move(run));
}

void write_forward(Builder& b, const SharedNorm& norm, const std::vector<Buffer*>& uses) {
  b.step(uses, [norm](const StepContext& context) {
    context.training ? norm_statistics(norm->call(context), device().stream)
                     : norm_statistics_from_running(norm->call(context), device().stream);
  });
  write_sum(b, norm, false);
  b.step(uses, [norm](const StepContext& context) {
    const NormCall call = norm->call(context);
    if (context.training && call.shared != nullptr)
      norm_statistics_from_shared(call, device().stream);
    norm_forward(call, device().stream);
  });
}

}  // namespace

Result<void> lower_norm(Builder& b, const Unit& unit) {
  Value& x = b.input(unit);
  Value* addend = unit.addend ? &b.value(*unit.addend) : nullptr;
  Value& y = b.make_value(unit.output, true);
  auto norm = std::make_shared<Norm>();
  norm->type = b.type();
  norm->rows = b.rows(x);
  norm->channels = channels_of(x);
  norm->positions = x.positions();
  norm->relu = unit.relu;
  norm->x = x.data;
  norm->addend = addend != nullptr ? addend->data : nullptr;
  norm->y = y.data;
  static_cast<program::NormTensors&>(*norm) = claim_norm(b.parameters(), unit.node);
  for (Buffer** buffer : {&norm->mean, &norm->scale, &norm->inverse, &norm->mean_g, &norm->slope})
    *buffer = b.floats(norm->channels);
  if (b.syncs_norms())
    norm->shared = b.arena().make_persistent(norm->shared_count() * sizeof(double));
  norm->scratch = b.sums_scratch(sums_scratch_bytes(norm->channels));
  std::vector<Buffer*> uses = {x.data, y.data};
  if (addend != nullptr) uses.push_back(addend->data);
  write_forward(b, norm, uses);
  const auto sums = [&b, norm = SharedNorm(norm)](const std::vector<Buffer*>& touched,
                                                  const Buffer* term, const Buffer* other,
                                                  const Buffer* masked) {
    b.step(touched, [=](const StepContext& context) {
      norm_sums(norm->call(context), term->data, other != nullptr ? other->data : nullptr,
                masked != nullptr ? masked->data : nullptr, device().stream);
    });
    write_sum(b, norm, true);
    if (norm->shared == nullptr) return;
    b.step({norm->shared}, [norm](const StepContext& context) {
      norm_sums_from_shared(norm->call(context), device().stream);
    });
  };
  const auto input = [&b, norm = SharedNorm(norm), x = x.data](Buffer* g, bool is_masked,
                                                               Buffer* dx) {
    b.step({g, x, dx}, [=](const StepContext& context) {
      norm_backward(norm->call(context), g->data, is_masked, dx->data, device().stream);
    });
  };
  b.on_norm_gradients({&x, addend, &y, unit.relu, sums, input});
  return {};
}

Result<void> lower_layer_norm(Builder& b, const Unit& unit) {
  Value& x = b.input(unit);
  Value& y = b.make_value(unit.node, true);
  const Parameter* gamma = b.parameters().claim(unit.node, "gamma");
  const Parameter* beta = b.parameters().claim(unit.node, "beta");
  Buffer *mean = b.floats(b.rows(x)), *inverse = b.floats(b.rows(x));
  Buffer* scratch = b.sums_scratch(sums_scratch_bytes(channels_of(x)));
  const auto call = [=, type = b.type(), rows = b.rows(x), channels = x.shape.channels,
                     width = channels_of(x), x = x.data, y = y.data] {
    return LayerNormCall{.type = type,
                         .rows = rows,
                         .channels = channels,
                         .width = width,
                         .x = x->data,
                         .y = y->data,
                         .gamma = gamma->master,
                         .beta = beta != nullptr ? beta->master : nullptr,
                         .mean = mean->as<float>(),
                         .inverse = inverse->as<float>(),
                         .gamma_gradient = gamma->gradient.as<float>(),
                         .beta_gradient = beta != nullptr ? beta->gradient.as<float>() : nullptr,
                         .scratch = scratch->data};
  };
  b.step({x.data, y.data}, [call](const StepContext&) { layer_norm(call(), device().stream); });
  const auto own = [=, &b, &x](Buffer* g) {
    b.step({x.data, g},
           [=](const StepContext&) { layer_norm_sums(call(), g->data, device().stream); });
  };
  const auto backward = [=, &b, &x](Buffer* g, Buffer* dx) {
    b.step({x.data, g, dx}, [=](const StepContext&) {
      layer_norm_backward(call(), g->data, dx->data, device().stream);
    });
  };
  b.on_gradients(y, {{.input = &x, .write = backward}}, own);
  return {};
}

}  // namespace detol::inline trainer::cuda
