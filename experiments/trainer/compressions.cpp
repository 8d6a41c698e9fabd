// Measures the thread's CPU time of each compression in nanoseconds per element: the sums of a step
// with 2^18 gradients, in buckets of 2^15, by a group of one; the median of 101 steps:
//
//   cmake --build build/check --target trainer_compressions && build/check/bin/trainer_compressions

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <vector>

#include "trainer/collectives/gradient_sums.h"

namespace {

constexpr std::size_t kFloats = 1 << 18, kEach = 1 << 15;

double thread_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

double nanoseconds_by(const detol::CompressionRow& row) {
  std::vector<detol::GradientBucket> buckets;
  for (std::size_t first = 0; first < kFloats; first += kEach) buckets.push_back({first, kEach});
  const detol::Recipe recipe{.compression = std::string(row.name)};
  detol::GradientSums sums(recipe, detol::alone(), buckets);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1e-3F);
  std::vector<float> noise(kFloats), gradients;
  for (float& one : noise) one = normal(random);
  std::vector<double> samples;
  for (int i = 0; i < 101; ++i) {
    gradients = noise;
    const double start = thread_nanoseconds();
    for (std::size_t k = 0; k < buckets.size(); ++k) sums.start_next(gradients);
    sums.finish(gradients);
    samples.push_back((thread_nanoseconds() - start) / kFloats);
  }
  std::ranges::nth_element(samples, samples.begin() + 50);
  return samples[50];
}

}  // namespace

int main() {
  for (const detol::CompressionRow& row : detol::compressions())
    std::printf("%s %.2f\n", std::string(row.name).c_str(), nanoseconds_by(row));
}
