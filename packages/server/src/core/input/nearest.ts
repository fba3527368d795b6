const maximumSuggestions = 3

export function nearest(name: string, candidates: Iterable<string>): string[] {
  const wanted = name.toLowerCase()
  const allowed = Math.max(1, Math.floor(wanted.length / 3))
  return ranked(candidates, (candidate) => editDistance(wanted, candidate, allowed), allowed)
}

/** A client may have left out the namespace before the last dot. */
export function closestNames(name: string, candidates: Iterable<string>): string[] {
  const wanted = name.toLowerCase()
  const forms = (candidate: string): string[] => [candidate, candidate.slice(candidate.lastIndexOf('.') + 1)]
  return ranked(candidates, (candidate) => Math.min(...forms(candidate).map((form) => editDistance(wanted, form))))
}

export function didYouMean(name: string, candidates: Iterable<string>): string {
  const names = nearest(name, candidates).map((each) => `"${each}"`)
  return names.length === 0 ? '' : `; did you mean ${names.join(' or ')}?`
}

const ranked = (candidates: Iterable<string>, distanceOf: (name: string) => number, most = Infinity): string[] =>
  [...candidates]
    .map((name) => ({ name, distance: distanceOf(name.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, maximumSuggestions)
    .map(({ name }) => name)

/** Counts swaps of neighbours as one edit; a result above `most` means only that it is larger. */
export function editDistance(a: string, b: string, most = Infinity): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const next = [row]
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      let cost = Math.min(last[column]! + 1, next[column - 1]! + 1, last[column - 1]! + (isSame ? 0 : 1))
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        cost = Math.min(cost, beforeLast[column - 2]! + 1)
      next.push(cost)
    }
    if (Math.min(...next) > most) return most + 1
    ;[beforeLast, last] = [last, next]
  }
  return last[b.length]!
}
