#!/usr/bin/env python3
"""One searcher of another project on one function, for several seeds; `run --peers` and `compare --peers` call it.

  peers.py SEARCH_QUALITY SPACE_FILE PEER FIRST_SEED SEEDS EVALUATIONS
  peers.py SEARCH_LOOP PROBLEM PEER FIRST_SEED SEEDS EVALUATIONS NOISE PENDING

Every parameter is a number in [0, 1], which the program maps to the space's. Prints the lines that the
program prints, without simulated seconds. PENDING trials run at a time, without it one, and end in the order
of their asks. All peers minimise, with their defaults, on one thread. Under noise each is measured by the trial
with its best value, BoTorch also by the one of the best posterior mean:

  random, tpe, tpe_univariate, cmaes, gp_sampler    Optuna, TPE with constant_liar
  botorch    SingleTaskGP and LogExpectedImprovement, after 2 (d + 1) points of a Sobol sequence, or more until
             half as many have ended; with pending trials qLogExpectedImprovement;
             botorch_noisy: qLogNoisyExpectedImprovement
  smac       SMAC3 for hyperparameters: random forest and LogEI; smac_gp: for black boxes, a Gaussian process
"""
import collections
import functools
import math
import random
import subprocess
import sys
import tempfile
import warnings


POINTS = 25, 50, 100, 200, 400, 800  # evaluations that `run` and `compare` look at


class Function:
    """A function in the unit cube, without noise, and its noise's standard deviation."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        dimensions, noise = self.process.stdout.readline().split()
        self.dimensions, self.noise = int(dimensions), float(noise)

    def __call__(self, point):
        self.process.stdin.write(" ".join(f"{x:.17g}" for x in point) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


# Each peer is a generator: it yields a point, with the index of the point that its model expects to be the best
# so far (None: it has no model), and is sent the index and the value of a point that ended, or None.
def optuna_peer(make_sampler):
    def proposals(dimensions, seed, _):
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=make_sampler(optuna.samplers, seed))
        trials = []
        while True:
            trials.append(study.ask())
            ended = yield [trials[-1].suggest_float(f"x{i}", 0, 1) for i in range(dimensions)], None
            if ended:
                study.tell(trials[ended[0]], ended[1])
    return proposals


def botorch_proposals(dimensions, seed, _, is_noisy=False):
    import torch
    from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement, qLogNoisyExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float64)
    points, values, expected = [], [], None  # trials end in the order of their asks
    start = torch.quasirandom.SobolEngine(dimensions, scramble=True, seed=seed)
    bounds = torch.stack([torch.zeros(dimensions), torch.ones(dimensions)])
    while True:
        if len(points) < 2 * (dimensions + 1) or len(values) <= dimensions:
            points += start.draw(1, dtype=torch.float64).tolist()
        else:
            told, pending = torch.tensor(points[:len(values)]), torch.tensor(points[len(values):])
            outcomes = torch.tensor(values).unsqueeze(-1)
            model = SingleTaskGP(told, outcomes, outcome_transform=Standardize(m=1))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            if is_noisy:
                acquisition = qLogNoisyExpectedImprovement(model, told, prune_baseline=True, X_pending=pending if len(pending) else None)
            elif len(pending):
                acquisition = qLogExpectedImprovement(model, outcomes.max(), X_pending=pending)
            else:
                acquisition = LogExpectedImprovement(model, best_f=outcomes.max())
            candidate, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512, options={"batch_limit": 10})
            with torch.no_grad():
                expected = model.posterior(told).mean.argmax().item()
            points.append(candidate[0].tolist())
        ended = yield points[-1], expected
        if ended:
            values.append(-ended[1])


def smac_peer(facade):
    def proposals(dimensions, seed, evaluations):
        import smac
        from ConfigSpace import ConfigurationSpace, Float
        from smac.runhistory import TrialValue
        space = ConfigurationSpace(seed=seed)
        space.add([Float(f"x{i}", (0.0, 1.0)) for i in range(dimensions)])
        with tempfile.TemporaryDirectory() as folder:
            scenario = smac.Scenario(space, deterministic=True, n_trials=evaluations + 1, seed=seed, output_directory=folder)
            optimizer = getattr(smac, facade)(scenario, lambda config, seed: 0.0, logging_level=50)
            trials = []
            while True:
                trials.append(optimizer.ask())
                ended = yield [trials[-1].config[f"x{i}"] for i in range(dimensions)], None
                if ended:
                    optimizer.tell(trials[ended[0]], TrialValue(cost=ended[1]), save=False)
    return proposals


PEERS = {
    "random": optuna_peer(lambda samplers, seed: samplers.RandomSampler(seed=seed)),
    "tpe": optuna_peer(lambda samplers, seed: samplers.TPESampler(seed=seed, constant_liar=True)),
    "tpe_univariate": optuna_peer(lambda samplers, seed: samplers.TPESampler(seed=seed, multivariate=False, constant_liar=True)),
    "cmaes": optuna_peer(lambda samplers, seed: samplers.CmaEsSampler(seed=seed)),
    "gp_sampler": optuna_peer(lambda samplers, seed: samplers.GPSampler(seed=seed, deterministic_objective=True)),
    "botorch": botorch_proposals,
    "botorch_noisy": functools.partial(botorch_proposals, is_noisy=True),
    "smac": smac_peer("HyperparameterOptimizationFacade"),
    "smac_gp": smac_peer("BlackBoxFacade"),
}


def search(function, proposals, evaluations, errors, most_pending):
    """Yields after each evaluation its count, whether its value is the best, the best value, that one without noise, and
    the value without noise of the trial that is recommended."""
    exact, best, best_exact = [], math.inf, math.inf
    pending = collections.deque([next(proposals)[0]])
    for count in range(1, evaluations + 1):
        while len(pending) < most_pending:
            pending.append(proposals.send(None)[0])
        exact.append(function(pending.popleft()))
        value = exact[-1] + errors.gauss(0, 1) * function.noise
        is_best = value < best
        if is_best:
            best, best_exact = value, exact[-1]
        expected = None
        if count < evaluations or function.noise > 0:
            point, expected = proposals.send((count - 1, value))
            pending.append(point)
        yield count, is_best, best, best_exact, best_exact if expected is None else exact[expected]


def main():
    program, target, peer, first, seeds, evaluations = sys.argv[1:4] + [int(word) for word in sys.argv[4:7]]
    warnings.filterwarnings("ignore")
    is_problem = len(sys.argv) == 9
    pending = int(sys.argv[8]) if is_problem else 1
    function = None
    for seed in range(first, first + seeds):
        if is_problem:
            function = Function(program, "--values", target, str(seed))
            function.noise = float(sys.argv[7])
        elif function is None:
            function = Function(program, "--values", target)
        proposals, words = PEERS[peer](function.dimensions, seed, evaluations), [peer, target, str(seed)]
        for count, is_best, best, best_exact, recommended in search(function, proposals, evaluations, random.Random(seed), pending):
            is_point = count == evaluations or count in POINTS
            if is_problem and (is_point or (is_best and function.noise == 0)):
                words.append(f"{count}:{recommended:.6g}")
            elif not is_problem and (is_best or count == evaluations or (is_point and function.noise > 0)):
                print(f"{peer},{seed},{count},0,{best:.9g},{best_exact:.9g},{peer},{recommended:.9g}", flush=True)
        proposals.close()
        if is_problem:
            print(" ".join(words), flush=True)
            function.process.kill()


if __name__ == "__main__":
    main()
