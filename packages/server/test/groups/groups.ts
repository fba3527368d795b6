/**
 * Which files of tests run in one process. Loading the service, some thousand modules, costs as much as the tests of a usual file:
 * here it happens once a group. Each file is a suite, so its hooks are its own, and each runs by itself as well.
 */
import { AsyncResource } from 'node:async_hooks'
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

/** Declares the tests of all files of a group. */
export async function run(group: Group): Promise<void> {
  const files = filesOf(...groups[group])
  if (files.length === 0) throw new Error(`group ${group} has no files: see its patterns in groups.ts`)
  await declare(files)
}

/** Declares the tests of these files, which run one file after the other. @param files paths below the root */
export async function declare(files: readonly string[]): Promise<void> {
  const hooks = testRunnerHooks()
  const { before, describe } = await import('node:test')
  let imported = Promise.resolve()
  for (const file of files) {
    const previous = imported
    describe(file, () => {
      // The runner assigns a test to the suite in which the import of its file began. Files that are imported at once, and wait
      // for the same module, would get one suite.
      const suite = new AsyncResource('TestFile')
      const load = (): Promise<void> =>
        suite.runInAsyncScope(async () => {
          await import(pathToFileURL(`${root}/${file}`).href)
        })
      imported = previous.then(load, load)
      return imported
    })
  }
  before(async () => {
    await imported.catch(() => {})
    hooks.disable()
  })
}
