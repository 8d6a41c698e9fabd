#pragma once

// Samples, mutates and crosses genomes of an encoding as searchers do, and decodes the results.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/table.h"
#include "encodings/network/canonical.h"
#include "encodings/study/encodings.h"
#include "encodings/study/study_config.h"

namespace detol {

// A space file of this encoding; `architecture` is what follows below `type`.
inline std::string file_of(const std::string& encoding, const std::string& architecture) {
  return "version: 1\nstudy: s\ndata: {format: idx, path: /data}\narchitecture:\n  type: " +
         encoding + "\n" + architecture +
         "training: {epochs: 2}\nobjectives: [{metric: val_loss, direction: minimize}]\n";
}

// Returns `count` each of samples, repeated mutations and crossovers.
inline std::vector<Genome> random_genomes(const Space& space, int count) {
  Rng rng(20261121);
  std::vector<Genome> samples, genomes;
  for (int i = 0; i < count; ++i) samples.push_back(space.sample(rng));
  Genome mutated = samples.front();
  for (int i = 0; i < count; ++i) genomes.push_back(mutated = space.mutate(mutated, rng));
  for (int i = 0; i < count; ++i) {
    const Genome& one = samples[rng.below(samples.size())];
    genomes.push_back(space.crossover(one, i % 2 == 0 ? mutated : samples.front(), rng));
  }
  genomes.insert(genomes.end(), samples.begin(), samples.end());
  return genomes;
}

// Returns the genome with every unexpressed choice drawn again.
inline Genome with_other_unexpressed(const Space& space, const Genome& genome, Rng& rng) {
  const std::vector<bool> counts = space.expressed(genome);
  std::vector<double> codes(genome.codes().begin(), genome.codes().end());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (!counts[i] && genome.is_active(i)) codes[i] = space.domains()[i].code_at(rng.uniform());
  }
  return space.repair(std::move(codes), rng);
}

inline Network decode(const std::string& encoding, const std::string& architecture,
                      const Task& task) {
  const auto network =
      find_row(encodings(), encoding)->decode(nlohmann::json::parse(architecture), task);
  EXPECT_TRUE(network) << network.error().message;
  return network.value_or(Network{});
}

inline std::uint64_t hash_of_json(const std::string& encoding, const std::string& architecture,
                                  const Task& task) {
  return canonical_hash(decode(encoding, architecture, task));
}

}  // namespace detol
