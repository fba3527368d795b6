import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { presets } from './presets.ts'
import { readSeed } from './read-seed.ts'
import { SeedRefusal } from './seed-refusal.ts'

/** `line:column path: message`, each. */
function faultsOf(text: string): string[] {
  try {
    readSeed({ text })
  } catch (error) {
    assert.ok(error instanceof SeedRefusal, String(error))
    return error.faults.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`)
  }
  return []
}

describe('what a seed is drawn from', () => {
  test('a preset from its name, but for the bare empty one, of which each is another', () => {
    assert.deepEqual(
      presets.map((preset) => readSeed(preset).random),
      [undefined, 'tiny', 'demo', 'lab', 'large'],
    )
  })

  test('a text from the text: equal texts give equal worlds, others do not', () => {
    const [first, again, other] = ['vms: 3\n', 'vms: 3\n', 'vms: 4\n'].map(
      (text) => readSeed({ text: `extends: tiny\n${text}` }).random,
    )
    assert.equal(first, again)
    assert.notEqual(first, other)
  })

  test('from random, where a text has it', () => {
    assert.equal(readSeed({ text: 'random: dice\n' }).random, 'dice')
  })
})

test('every preset can be read, and what extends one stands behind it', () => {
  for (const preset of presets) assert.doesNotThrow(() => readSeed(preset), preset)
  const plan = readSeed({ text: 'extends: lab\nvms: 5\n' })
  assert.deepEqual(
    plan.layers.map(({ name }) => name),
    ['The preset lab', 'The seed'],
  )
  assert.deepEqual([plan.base, plan.layers[1]?.declared], ['empty', { vms: 5 }])
})

test('a file is read like a text, and one that is not there is refused with its name', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-seed-'))
  const file = join(folder, 'seed.yaml')
  writeFileSync(file, 'extends: demo\nvms: 7\n')
  assert.deepEqual(readSeed({ file }).layers[0]?.declared, { vms: 7 })
  writeFileSync(file, 'vms: many\n')
  assert.throws(() => readSeed({ file }), /seed\.yaml: line 1, column 6, vms: expected/)
  assert.throws(() => readSeed({ file: join(folder, 'absent.yaml') }), /absent\.yaml cannot be read \(ENOENT\)/)
  rmSync(folder, { recursive: true })
})

describe('refuses, with line and column,', () => {
  test('all that is wrong together, in the order of the text', () => {
    const text = `extends: dmo
clusters:
  - name: one
    hots: 3
    hosts: 65
vms:
  - name: 5
    powerState: on
    nics: [net, { subnet: 7 }]
  - vcpus: 2
`
    assert.deepEqual(faultsOf(text), [
      '1:10 extends: expected empty or tiny or demo or lab or large or nothing, found "dmo"; did you mean "demo"?',
      '4:5 clusters[0].hots: is not known here; did you mean "hosts"?',
      '5:12 clusters[0].hosts: expected an integer from 1 to 64, found 65',
      '7:11 vms[0].name: expected text of 1 to 80 characters, found 5: put it in quotes',
      '8:17 vms[0].powerState: expected OFF or ON, found "on"; did you mean "ON"?',
      '9:27 vms[0].nics[1].subnet: expected text of 1 to 255 characters, found 7: put it in quotes',
      '10:5 vms[1]: name is missing',
    ])
  })

  test('what is not YAML, every place of it', () => {
    const faults = faultsOf('vms: [1\nusers: ]\n')
    assert.ok(faults.length >= 1)
    for (const fault of faults) assert.match(fault, /^\d+:\d+ : is not YAML \(/)
  })

  test('the form of a value that is none of those allowed', () => {
    assert.deepEqual(faultsOf('vms: { a: 1 }\n'), [
      '1:6 vms: expected an integer from 0 to 1000000 or a list, found a mapping',
    ])
    assert.deepEqual(faultsOf('- a\n'), ['1:1 : expected a mapping, found a list of 1'])
    assert.deepEqual(faultsOf('clusters:\n'), ['1:10 clusters: expected a list, found nothing'])
  })

  test('a key that is there twice', () => {
    assert.match(faultsOf('vms: 1\nvms: 2\n')[0] ?? '', /^2:1 : vms is there twice$/)
  })

  test('a count without a place for the number, and with an id for all', () => {
    const text = `vms:
  - { name: web, count: 3 }
  - { name: 'db-{n}', count: 2, extId: 11111111-1111-4111-8111-111111111111 }
`
    assert.deepEqual(faultsOf(text), [
      '2:13 vms[0].name: expected {n} in it, for the number of each, because of count',
      '3:40 vms[1].extId: expected no id with count: those of several follow from their names',
    ])
  })

  test('words that only go with others', () => {
    assert.match(faultsOf('extends: nothing\n')[0] ?? '', /^1:10 extends: expected world with it/)
    assert.match(faultsOf('names: { a: b }\n')[0] ?? '', /^1:8 names: expected only with extends: demo/)
  })

  test('aliases that unfold to more than a seed may hold, and nests without end', () => {
    const levels = Array.from({ length: 12 }, (_, level) =>
      level === 0 ? '- &l0 [1]' : `- &l${level} [${Array.from({ length: 12 }, () => `*l${level - 1}`).join(', ')}]`,
    )
    assert.ok(faultsOf(`facts:\n  c:\n    id:\n${levels.map((line) => `      ${line}`).join('\n')}\n`).length > 0)
    assert.ok(faultsOf(`vms: ${'['.repeat(20_000)}`).length > 0)
    assert.match(faultsOf('vms: &all [*all]\n')[0] ?? '', /nested too deeply|found/)
  })
})

describe('rows as they are stored', () => {
  const text = `extends: nothing
world: { tenantId: 11111111-1111-4111-8111-111111111111, time: 2026-03-02T09:00:00Z }
entities:
  Category:
    - {"extId":"11111111-1111-4111-8111-111111111112","key":"Environment","value":"Dev"}
    - {"extId":"11111111-1111-4111-8111-111111111113","key":"Environment","vlaue":"Test"}
    - {"key":"Environment"}
  Categoty:
    - {"extId":"x"}
  Vm:
    - {"extId":"11111111-1111-4111-8111-111111111114","name":"a","memorySizeBytes":"4"}
    - {"extId":
facts:
  hardware.clusters:
    "a: b": {"settings":{}}
vms: 1
`
  const expected = [
    '6:7 entities.Category: vlaue is not known here; did you mean "value"?',
    '7:7 entities.Category: extId is missing',
    '9:7 entities.Categoty: Categoty is no kind that a seed holds; did you mean "Category"?',
    '11:7 entities.Vm: memorySizeBytes: expected an integer, found "4"',
  ]

  test('are judged each, and what follows them keeps its place', () => {
    const broken = text.replace('    - {"extId":\n', '').replace('vms: 1\n', 'vmx: 1\n')
    // What is written wrongly is told before what stands in the rows.
    assert.match(faultsOf(broken)[0] ?? '', /^15:1 vmx: is not known here/)
    assert.deepEqual(faultsOf(broken.replace('vmx', 'vms')), expected)
  })

  test('on a line that does not end are no rows one a line, and so no YAML', () => {
    assert.match(faultsOf(text)[0] ?? '', /is not YAML/)
  })

  test('may be written by hand as well, and are the same', () => {
    const row = { extId: '11111111-1111-4111-8111-111111111112', key: 'Environment', value: 'Dev' }
    const byHand =
      'entities:\n  Category:\n  - extId: 11111111-1111-4111-8111-111111111112\n    key: Environment\n    value: Dev\n'
    const byMachine = `entities:\n  Category:\n    - ${JSON.stringify(row)}\n`
    for (const written of [byHand, byMachine]) {
      const found = [...readSeed({ text: written }).rows.entities()]
      assert.deepEqual(
        found.map(({ group, value }) => [group, value()]),
        [['Category', row]],
      )
    }
  })

  test('of facts keep ids that no plain YAML key could be', () => {
    const written = 'facts:\n  content.files:\n    "a: \\"b\\"/c": {"url":"https://x/#y"}\n'
    const [fact] = readSeed({ text: written }).rows.facts()
    assert.deepEqual([fact?.group, fact?.id, fact?.value()], ['content.files', 'a: "b"/c', { url: 'https://x/#y' }])
  })
})
