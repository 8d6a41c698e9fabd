#pragma once

// Constants of batch norm and layer norm, as encodings/network/layer.h defines them: every backend
// and every exporter has these.

namespace detol::inline trainer {

inline constexpr double kNormEpsilon = 1e-5;
inline constexpr double kStatisticsMomentum = 0.1;  // of batch norm's running statistics

}  // namespace detol::inline trainer
