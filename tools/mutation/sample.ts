import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Mutant, mutantsOf } from './mutants.ts'
import { domains, root } from './paths.ts'

export const allSources = `${domains}**/*.ts`

/** Tests compare the initial data of a demo with itself, so they cannot notice its mutants. */
const isLeftOut = (file: string): boolean => /\.test\.ts$|\/seed[^/]*$/.test(file)

export const allMutants = (pattern: string): Mutant[] =>
  globSync(pattern, { cwd: root })
    .filter((file) => !isLeftOut(file))
    .sort()
    .flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')))

/** Each mutant has its own lot, derived from the seed and its text, so that changes elsewhere draw no other mutants. */
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

export interface Reference extends Pick<Mutant, 'file' | 'line' | 'change' | 'occurrence'> {
  readonly state: 'killed' | 'survived' | 'unreached'
  readonly by?: string
}

/** By its line: in its file, else in the only file of the same name; in other files only if its file is gone. */
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
