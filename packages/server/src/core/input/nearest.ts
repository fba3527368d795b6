/** Suggestions for an unknown name, for error messages. */

/** Known names within a small edit distance, nearest first, at most `limit`. */
export function nearest(name: string, candidates: Iterable<string>, limit = 3): string[] {
  const lowerCased = name.toLowerCase()
  const allowed = Math.max(1, Math.floor(lowerCased.length / 3))
  const matches: { candidate: string; distance: number }[] = []
  for (const candidate of candidates) {
    const distance = distanceOf(lowerCased, candidate.toLowerCase(), allowed)
    if (distance <= allowed) matches.push({ candidate, distance })
  }
  return matches
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}

/** `; did you mean "a" or "b"?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const names = nearest(name, known).map((each) => `"${each}"`)
  return names.length === 0 ? '' : `; did you mean ${names.join(' or ')}?`
}

/**
 * Edit distance (insert, delete, replace, swap of neighbours); any number above `most` means only that it is larger.
 */
function distanceOf(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  // `!` below: every index lies within its row.
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
    ;[beforeLast, last] = [last, next]
  }
  return last[b.length]!
}
