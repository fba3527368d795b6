/**
 * The same seed, clock and calls, made one after another in two processes: the same answers, byte for byte, and the same
 * journal. What is secret by nature differs: keys, password hashes, certificates.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

const program = join(import.meta.dirname, '../support/same-calls.ts')

/** What a process of its own has seen of a world, a line an answer. */
function seenByOneProcess(): Promise<string[]> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk) => (text += chunk))
    child.once('error', reject)
    child.once('exit', (code) =>
      code === 0 ? resolve(text.trimEnd().split('\n')) : reject(new Error(`ended with ${code}`)),
    )
  })
}

test('two processes that make the same calls see the same ids, placements, addresses, statistics and journal', async () => {
  const [one, other] = await Promise.all([seenByOneProcess(), seenByOneProcess()])
  assert.ok(one.length > 60, String(one.length))
  for (const [index, line] of one.entries()) assert.equal(other[index], line, `answer ${index}`)
  assert.equal(one.length, other.length)
})
