"""scikit-learn: fitted models, what they predict, how well they do."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from .base import Everyday

X = np.array([[0.1], [0.4], [0.6], [0.9]])
Y = np.array([0.0, 0.0, 1.0, 1.0])
Z = np.array([0.0, 0.0, 1.0, 0.0])
LABELS = [((X, Y), (X, Z))]
OUTLIER = X.copy()
OUTLIER[3] = 0.0
ROWS_DIFFER = [(X, OUTLIER)]


def regression(data, rng):
    return LinearRegression().fit(*data)


def noisy_mean_as_a_model(data, rng):
    model = LinearRegression().fit(np.array([[0.0], [1.0]]), np.zeros(2))
    model.intercept_ = data[1].clip(0, 1).mean() + rng.laplace(scale=1 / len(data[1]))
    return model


def ridge_predictions(data, rng):
    return Ridge(alpha=1.0).fit(*data).predict(X) + rng.normal(scale=1e-3, size=4)


def noisy_mean_predictions(data, rng):
    return np.full(4, data[1].clip(0, 1).mean() + rng.laplace(scale=1 / 4))


def score(data, rng):
    return {"r2": LinearRegression().fit(*data).score(*data), "seed": int(rng.integers(9))}


def noisy_score(data, rng):
    return {"share": data[1].clip(0, 1).mean() + rng.laplace(scale=1 / 4), "seed": 0}


def scaler(x, rng):
    return StandardScaler().fit(x)


def scaler_with_public_bounds(x, rng):
    return MinMaxScaler().fit(np.array([[0.0], [1.0]]))


def neighbours(data, rng):
    return KNeighborsRegressor(n_neighbors=1).fit(*data)


def neighbours_of_noise(data, rng):
    return KNeighborsRegressor(n_neighbors=1).fit(X, data[1] + rng.laplace(scale=1.0, size=4))


def tree(data, rng):
    return DecisionTreeRegressor(max_depth=2, random_state=0).fit(*data)


def tree_of_noise(data, rng):
    noisy = data[1] + rng.laplace(scale=1.0, size=4)
    return DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, noisy)


def bayes(data, rng):
    return GaussianNB().fit(data[0], data[1] > 0.5).theta_


def bayes_with_noise(data, rng):
    return (data[1] > 0.5).sum() + rng.laplace(scale=1.0)


def clusters(x, rng):
    return KMeans(2, n_init=1, random_state=int(rng.integers(99))).fit(x).cluster_centers_


def noisy_centre(x, rng):
    return np.array([[x.clip(0, 1).mean() + rng.laplace(scale=1 / 4)]])


ROWS = (
    Everyday("fitted regression", regression, noisy_mean_as_a_model, LABELS),
    Everyday("predictions", ridge_predictions, noisy_mean_predictions, LABELS),
    Everyday("score", score, noisy_score, LABELS),
    Everyday("scaler", scaler, scaler_with_public_bounds, ROWS_DIFFER),
    Everyday("nearest neighbours", neighbours, neighbours_of_noise, LABELS),
    Everyday("decision tree", tree, tree_of_noise, LABELS),
    Everyday("naive Bayes", bayes, bayes_with_noise, LABELS),
    Everyday("clusters", clusters, noisy_centre, ROWS_DIFFER),
)
