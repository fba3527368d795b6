/**
 * Which files of tests run in one process. Loading the service, some thousand modules, costs as much as the tests of a usual file:
 * here it happens once a group. Each file is a suite, so its hooks are its own, and each runs by itself as well.
 */
import { globSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { testRunnerHooks } from './test-runner-hooks.ts'

const root = `${import.meta.dirname}/../../../..`

/** Patterns below the root of the project. Groups take about as long as each other; a process of its own is for `../process`. */
export const groups = {
  clusters: ['packages/server/test/api/{clustermgmt,storage,volumes}/**/*.test.ts'],
  control: ['packages/server/test/api/control/**/*.test.ts'],
  conventions: ['packages/server/test/conventions/**/*.test.ts'],
  http: ['packages/server/test/http/**/*.test.ts'],
  iam: ['packages/server/test/api/iam/**/*.test.ts'],
  networking: ['packages/server/test/api/networking/**/*.test.ts'],
  parts: ['packages/*/src/**/*.test.ts', 'tools/**/*.test.ts', 'docs/how-to/examples/*.test.ts'],
  platform: ['packages/server/test/api/platform/**/*.test.ts'],
  seeds: ['packages/server/test/api/seeds/**/*.test.ts'],
  'vmm-a-h': ['packages/server/test/api/vmm/[a-h]*.test.ts'],
  'vmm-i-z': ['packages/server/test/api/vmm/[i-z]*.test.ts'],
} as const satisfies Record<string, readonly string[]>

export type Group = keyof typeof groups

/** Their paths below the root, always in one order. */
export const filesOf = (...patterns: readonly string[]): string[] =>
  globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] }).sort()

/** Declares the tests of a group's files; they run one file after the other. */
export async function run(group: Group): Promise<void> {
  const files = filesOf(...groups[group])
  if (files.length === 0) throw new Error(`group ${group} has no files: see its patterns in groups.ts`)
  const hooks = testRunnerHooks()
  const { before, describe } = await import('node:test')
  const imports = files.map((file) => {
    const imported = Promise.withResolvers<void>()
    describe(file, async () => {
      try {
        await import(pathToFileURL(`${root}/${file}`).href)
      } finally {
        imported.resolve()
      }
    })
    return imported.promise
  })
  before(async () => {
    await Promise.all(imports)
    hooks.disable()
  })
}
