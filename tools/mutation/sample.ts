/** Which mutants are tried: by seed, or as the reference file names them. */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Mutant, mutantsOf } from './mutants.ts'
import { domains, root } from './paths.ts'

export const allSources = `${domains}**/*.ts`

/** Files of a demo say what a world begins with: tests compare it with itself. */
const isLeftOut = (file: string): boolean => /\.test\.ts$|\/seed[^/]*$/.test(file)

export const allMutants = (pattern: string): Mutant[] =>
  globSync(pattern, { cwd: root })
    .filter((file) => !isLeftOut(file))
    .sort()
    .flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')))

/** A change elsewhere draws no other mutants: each has its own lot, which follows from the seed and from what it says. */
export function drawSample(mutants: readonly Mutant[], seed: number, size: number): Mutant[] {
  const lot = ({ file, line, change, occurrence }: Mutant): string =>
    createHash('sha256')
      .update(JSON.stringify([seed, basename(file), line, change, occurrence]))
      .digest('hex')
  return mutants
    .map((mutant) => ({ mutant, lot: lot(mutant) }))
    .sort((a, b) => (a.lot < b.lot ? -1 : 1))
    .slice(0, size)
    .map(({ mutant }) => mutant)
}

/** A line of the reference file. */
export interface Reference extends Pick<Mutant, 'file' | 'line' | 'change' | 'occurrence'> {
  readonly state: 'killed' | 'survived' | 'unreached'
  readonly by?: string
}

/**
 * Found by its line: in its file, else in the only file of the same name; if its file is gone, in the only file that has the line.
 * While its file exists, an equal line elsewhere is another one.
 */
export function findAgain(mutants: readonly Mutant[], wanted: Reference): Mutant | undefined {
  const alike = mutants.filter(
    ({ line, change, occurrence }) =>
      line === wanted.line && change === wanted.change && occurrence === wanted.occurrence,
  )
  const only = (candidates: readonly Mutant[]): Mutant | undefined =>
    candidates.length === 1 ? candidates[0] : undefined
  return (
    alike.find(({ file }) => file === wanted.file) ??
    only(alike.filter(({ file }) => basename(file) === basename(wanted.file))) ??
    (mutants.some(({ file }) => file === wanted.file) ? undefined : only(alike))
  )
}
