import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, test } from 'node:test'
import { newKind } from './new-kind.ts'

const task = {
  objectType: 'networking.v4.config.TaskReferenceApiResponse',
  data: ['prism.config.TaskReference'],
  async: true,
}
const facts = {
  namespace: 'networking',
  specNamespace: 'networking',
  schemas: {
    'config.Lantern': {
      objectType: 'networking.v4.config.Lantern',
      fields: [
        { name: 'extId', type: 'string' },
        { name: 'name', type: 'string', required: true, maxLength: 64 },
        { name: 'externalSubnetReference', type: 'string', format: 'uuid', immutable: true },
        { name: 'brightness', type: 'enum:config.Brightness', readOnly: true },
        { name: 'address', type: 'ref:common.config.IPAddress' },
        { name: 'beams', type: 'array<ref:config.Beam>', maxItems: 4 },
      ],
    },
    'config.Beam': {
      objectType: 'networking.v4.config.Beam',
      fields: [{ name: 'angle', type: 'integer', minimum: 0, maximum: 359, default: 90 }],
    },
  },
  enums: { 'config.Brightness': ['DIM', 'BRIGHT'] },
  operations: [
    {
      operationId: 'listLanterns',
      method: 'GET',
      path: '/config/lanterns',
      tag: 'Lanterns',
      headers: [],
      requestBody: null,
      response: {
        objectType: 'networking.v4.config.ListLanternsApiResponse',
        data: ['config.Lantern[]'],
        async: false,
      },
      filterFields: ['name'],
      orderbyFields: [],
    },
    {
      operationId: 'createLantern',
      method: 'POST',
      path: '/config/lanterns',
      tag: 'Lanterns',
      headers: [],
      requestBody: 'config.Lantern',
      response: task,
    },
    {
      operationId: 'updateLanternById',
      method: 'PUT',
      path: '/config/lanterns/{extId}',
      tag: 'Lanterns',
      headers: [{ name: 'If-Match', required: true }],
      requestBody: 'config.Lantern',
      response: task,
    },
    {
      operationId: 'lightLantern',
      method: 'POST',
      path: '/config/lanterns/{extId}/$actions/light',
      tag: 'Lanterns',
      headers: [],
      requestBody: 'config.Beam',
      response: task,
    },
  ],
}

const root = resolve(import.meta.dirname, '../..')
let folder: string
let factsFile: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hyperplane-new-kind-'))
  factsFile = join(folder, 'networking.json')
  writeFileSync(factsFile, JSON.stringify(facts))
})
after(() => rmSync(folder, { recursive: true }))

test('the contract file declares the fields, the list fields and the operations that the facts give', () => {
  const roles = join(folder, 'roles.tsv')
  writeFileSync(roles, 'View_Lantern\tlist\tSuper Admin; Operator\nCreate_Lantern\tdo\tSuper Admin\n')
  const { files } = newKind({ facts: factsFile, tag: 'Lanterns', roles }, root)
  const contract = files.get('packages/contract/src/networking/lantern.ts') ?? ''
  for (const expected of [
    "import { IPAddress } from '../shapes.ts'",
    "const Beam = s.object('networking.v4.config.Beam'",
    'angle: s.withDefault(s.integer({ minimum: 0, maximum: 359 }), 90)',
    'name: s.text({ maxLength: 64 })',
    "externalSubnetReference: s.optional(s.immutable(s.referenceTo('Subnet')))",
    'brightness: s.readOnly(s.enumeration(["DIM","BRIGHT"]))',
    'beams: s.optional(s.arrayOf(Beam, { maxItems: 4 }))',
    'iam: undecided.attributes',
    "roles: names('Super Admin, Operator')",
    "filter: names('name'), orderby: undecided.orderby",
    'of: Lantern, body: Beam',
  ])
    assert.ok(contract.includes(expected), `${expected}\nis not in\n${contract}`)
  assert.ok(!contract.includes('extId:'), 'the resource adds the base fields itself')
})

test('each file is valid TypeScript, and its imports reach the contract from the given folder', () => {
  const { files } = newKind({ facts: factsFile, tag: 'Lanterns', folder: 'lights/small' }, root)
  assert.deepEqual(
    [...files.keys()],
    [
      'packages/contract/src/networking/lights/small/lantern.ts',
      'packages/server/src/domains/networking/lights/small/lantern.ts',
      'packages/server/test/kinds/networking/lantern.ts',
      'packages/server/test/api/networking/lantern.test.ts',
    ],
  )
  for (const text of files.values()) stripTypeScriptTypes(text)
  assert.match([...files.values()][0] ?? '', /from '\.\.\/\.\.\/\.\.\/schema\.ts'/)
  assert.match([...files.values()][1] ?? '', /from '\.\.\/\.\.\/\.\.\/context\.ts'/)
})

test('roles that no table gives remain undecided, so that the file does not compile', () => {
  const contract = newKind({ facts: factsFile, tag: 'Lanterns' }, root).files.get(
    'packages/contract/src/networking/lantern.ts',
  )
  assert.match(contract ?? '', /roles: undecided\.roles/)
})

test('names of public clients in paths and types become those of the specification', () => {
  const [list] = facts.operations
  const foreign = {
    namespace: 'vmm',
    specNamespace: 'vmm',
    schemas: {
      'esxi.config.Lantern': { objectType: 'vmm.v4.esxi.config.Lantern', fields: [{ name: 'name', type: 'string' }] },
    },
    enums: {},
    operations: [
      { ...list, path: '/esxi/config/lanterns/{extId}', response: { objectType: '', data: ['esxi.config.Lantern'] } },
    ],
  }
  const file = join(folder, 'vmm.json')
  writeFileSync(file, JSON.stringify(foreign))
  const contract =
    newKind({ facts: file, tag: 'Lanterns' }, root).files.get('packages/contract/src/vmm/lantern.ts') ?? ''
  assert.match(contract, /resource\('vmm\.v4\.extern\.config\.Lantern'/)
  assert.match(contract, /get\('\/extern\/config\/lanterns\/\{extId\}'/)
})

test('an unknown tag is refused with the tags of the facts', () => {
  assert.throws(() => newKind({ facts: factsFile, tag: 'Lamps' }, root), /Lamps.*expected one of: Lanterns/)
})
