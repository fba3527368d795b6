/** Memory that a process no longer needs goes back to the system, also where the C library would keep it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { createTrimmer, IdleCollector } from '../../src/worlds/give-back-memory.ts'
import { compiledSources } from '../support/compiled.ts'

const source = new URL('../../src/worlds/give-back-memory.ts', import.meta.url).href
const program = `
  import { DatabaseSync } from 'node:sqlite'
  import { readFileSync } from 'node:fs'
  const { giveBackMemory } = await import(${JSON.stringify(source)})
  await giveBackMemory()
  const resident = () => Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024
  const start = resident()
  const databases = Array.from({ length: 100 }, () => {
    const database = new DatabaseSync(':memory:')
    database.exec("CREATE TABLE t (text); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO t SELECT hex(randomblob(500)) FROM n")
    return database
  })
  const full = resident()
  // The last one stays: it lies above the memory of all others.
  for (const database of databases.slice(0, -1)) database.close()
  const closed = resident()
  await giveBackMemory()
  console.log(JSON.stringify({ start, full, closed, end: resident(), rows: databases.at(-1).prepare('SELECT count(*) AS n FROM t').get().n }))
`

test('memory of closed databases goes back to the system, although another one still lies above it', async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program],
    { env: { ...process.env, ...compiledSources } },
  )
  const { start, full, closed, end, rows } = JSON.parse(stdout)
  const seen = `MiB: ${JSON.stringify({ start, full, closed, end })}`
  assert.ok(full - start > 90, `too little was allocated to see anything. ${seen}`)
  assert.ok(end - start < 30, seen)
  assert.deepEqual([rows, stderr], [1000, ''])
})

test('garbage is collected once for a request, in the first second in which the event loop was nearly idle', async () => {
  let [used, collections] = [0, 0]
  const collector = new IdleCollector(
    () => used,
    async () => void collections++,
  )
  const seen: boolean[] = []
  for (const step of [0.01, 'request', 0.9, 0.1, 0.05, 0.05, 'request', 0.02]) {
    if (typeof step === 'string') collector.request()
    else {
      used = step
      seen.push(await collector.look())
    }
  }
  assert.deepEqual([seen, collections], [[false, false, false, true, false, true], 2])
})

test('heaps are trimmed when the process holds 24 MiB more than its least since the last time', () => {
  const [MiB, seen] = [1024 ** 2, [] as number[]]
  let held: number | undefined
  const look = createTrimmer(
    () => held,
    () => {
      seen.push((held ?? 0) / MiB)
      held = (held ?? 0) - 10 * MiB
    },
  )
  for (const now of [100, 120, 123, 124, 137, undefined, 138, 90, 113, 114]) {
    held = now === undefined ? undefined : now * MiB
    look()
  }
  assert.deepEqual(seen, [124, 138, 114])
})

test('a trim that returns little doubles what the process has to grow by until the next one', () => {
  const [MiB, seen] = [1024 ** 2, [] as number[]]
  let held = 0
  const look = createTrimmer(
    () => held,
    () => void seen.push(held / MiB),
  )
  for (const now of [100, 124, 148, 171, 172, 267, 268]) {
    held = now * MiB
    look()
  }
  assert.deepEqual(seen, [124, 172, 268])
})
