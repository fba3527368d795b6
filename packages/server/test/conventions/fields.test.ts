/**
 * No field of a body is lost silently, generated from the contract: each writable field of each mutation is sent and read back.
 * Source: behaviour conventions 3, 13. Exceptions are listed with their reason in `golden/fields-not-read-back.txt`.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { contract, type Operation } from '@hyperplane/contract'
import { creations, fileOf } from '../kinds/collected.ts'
import { nativeCluster } from '../kinds/kind.ts'
import { fieldOutcomes, isSettled } from '../support/field-outcomes.ts'
import { anArchive } from '../support/ovas.ts'
import { type S3Server, startS3Server, storedKey } from '../support/s3-server.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

const golden = `${import.meta.dirname}/../golden/fields-not-read-back.txt`
/** The list only shrinks: these follow it down, and are never raised. A wider line may not take the place of a narrow one. */
const allowed = { lines: 146, fields: 509 }
const isLast = ({ key }: Operation): boolean => key === 'clustermgmt.updateClusterById'
/** The settings of a cluster come last, because others of its operations depend on them. */
const operations = contract
  .flatMap((namespace) => namespace.operations)
  .filter(({ mutates, body }) => mutates && body !== undefined)
  .sort((a, b) => Number(isLast(a)) - Number(isLast(b)))

/** The lines that may excuse a field: its own, those of the objects around it, that of the whole operation. */
function linesFor(key: string, path: string): string[] {
  const parents = [...path.matchAll(/[/<]/g)].map(({ index }) => `${key} ${path.slice(0, index)}/*`)
  return [`${key} ${path}`, ...parents, `${key} *`]
}

let objects: S3Server
let demo: TestApp
let empty: TestApp
before(async () => {
  objects = await startS3Server()
  demo = await startApp({ config: objects.config })
  const archive = await anArchive(demo, nativeCluster)
  for (const bucket of ['vmm-images', 'vmm-ovas']) objects.objects.set(`${bucket}/${storedKey}`, archive)
  empty = await startApp({ config: { seed: 'empty' } })
})
after(async () => {
  await demo.close()
  await empty.close()
  await objects.close()
})

test('every field that a body may hold is read back, or is listed with a reason in the golden list', async () => {
  const reasons = new Map<string, string>()
  for (const line of readFileSync(golden, 'utf8').split('\n')) {
    const [, field, reason] = /^(\S+ \S+): (\S.*)$/.exec(line) ?? []
    if (field !== undefined && reason !== undefined) reasons.set(field, reason)
    else assert.match(line, /^(#.*)?$/, 'expected lines "<operation> <field>: <reason>"')
  }
  const used = new Set<string>()
  const missing: string[] = []
  let excused = 0
  for (const operation of operations) {
    const app = creations[operation.key]?.seed === 'empty' ? empty : demo
    for (const { path, outcome } of await fieldOutcomes(app, operation)) {
      if (isSettled(outcome)) continue
      const line = linesFor(operation.key, path).find((each) => reasons.has(each))
      if (line === undefined) missing.push(`${operation.key} ${path} (${fileOf(operation)}): ${outcome}`)
      else {
        used.add(line)
        excused++
      }
    }
  }
  assert.deepEqual(
    missing,
    [],
    'these fields were not read back: mend the handler, or export "fieldBases" or "fieldValues" with which they are from the named file, or add a line with the reason',
  )
  const fine = [...reasons.keys()].filter((line) => !used.has(line))
  assert.deepEqual(fine, [], 'these fields are read back now: remove their lines')
  assert.deepEqual(
    { lines: reasons.size, fields: excused },
    allowed,
    `lines, and fields that they excuse, in ${golden}`,
  )
})
