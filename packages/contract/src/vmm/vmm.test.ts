import assert from 'node:assert/strict'
import { test } from 'node:test'
import { perSecond } from '../operation.ts'
import { walk } from '../schema.ts'
import { UrlSource } from './content/image.ts'
import { vmm } from './index.ts'
import { Vm } from './vm/vm.ts'

const operation = (key: string) => {
  const found = vmm.operations.find((candidate) => candidate.key === key)
  assert.ok(found, key)
  return found
}

test('operations on external VMs have keys, paths and types of their own', () => {
  for (const { key, path } of vmm.operations) {
    assert.equal(key.startsWith('vmm.extern.'), path.startsWith('/extern/'), key)
  }
  for (const { key, path, envelope } of vmm.operations) {
    assert.equal(envelope.startsWith('vmm.v4.extern.'), path.startsWith('/extern/'), key)
  }
  const ids = vmm.operations.map(({ key }) => key.slice(key.lastIndexOf('.') + 1))
  assert.equal(ids.length - new Set(ids).size, 15)
})

test('operations that share an IAM operation share their roles', () => {
  const roles = new Map<string, string>()
  for (const { iamOperation, roles: own } of vmm.operations) {
    const text = [...own].sort().join()
    assert.notEqual(text, '')
    assert.equal(new Set(own).size, own.length, iamOperation)
    assert.equal(roles.get(iamOperation) ?? text, text, iamOperation)
    roles.set(iamOperation, text)
  }
})

test('statistics are those of the specification', () => {
  for (const key of ['vmm.getNicStatsById', 'vmm.extern.getNicStatsById']) {
    const { rateLimit, roles, select, query } = operation(key)
    assert.deepEqual(rateLimit, perSecond(2, 2, 4, 4))
    assert.equal(roles.length, 18)
    assert.deepEqual(select, ['extId', 'links', 'stats', 'tenantId', 'vmExtId'])
    assert.deepEqual(Object.keys(query), ['$startTime', '$endTime', '$samplingInterval', '$statType'])
    assert.equal(query['$startTime']?.optional, undefined)
  }
  for (const [key, filter, orderby] of [
    ['vmm.listVmStats', 83, 81],
    // The catalogue's fields, and guestMemoryUsagePpm.
    ['vmm.extern.listVmStats', 54, 52],
  ] as const) {
    assert.equal(operation(key).filter?.length, filter)
    assert.equal(operation(key).orderby?.length, orderby)
  }
})

test('mutations of a VM need its ETag and a request id, except for attributes and hydration', () => {
  for (const { key, method, path, ifMatch, requestId } of vmm.operations) {
    const isFree = /(custom-attributes|hydration)$|extern.*(assign-owner|categories)$/.test(path)
    if (!path.includes('/config/vms/') || method === 'GET' || isFree) continue
    // The catalogue does not require them of an operation that changes nothing of the VM.
    const expected = key === 'vmm.generateConsoleTokenById' ? 'optional' : 'required'
    assert.equal(ifMatch, expected, key)
    assert.equal(requestId, expected, key)
  }
  assert.equal(operation('vmm.deleteImageById').ifMatch, 'optional')
})

test('guest customisation and passwords are secrets, and cannot be selected', () => {
  assert.equal(Vm.schema.fields.guestCustomization.secret, true)
  assert.equal(UrlSource.fields.basicAuth.secret, true)
  const select = operation('vmm.listVms').select
  assert.ok(Array.isArray(select) && !select.includes('guestCustomization'))
})

test('every path that a list names exists', () => {
  for (const { key, resource, filter, orderby, select } of vmm.operations) {
    if (resource === undefined || filter === undefined) continue
    const paths = new Set([...walk(resource.schema)].map(({ path }) => path.join('/')))
    for (const path of [...filter, ...(orderby ?? []), ...(Array.isArray(select) ? select : [])]) {
      assert.ok(paths.has(path), `${key}: ${path}`)
    }
  }
})

test('the address of an image is read in linear time', () => {
  const pattern = new RegExp(UrlSource.fields.url.pattern ?? '')
  for (const url of [
    'https://example.com/images/a.iso',
    'nfs://10.0.0.1/export/disk.qcow2',
    'http://h:8080/ab?x=1#y',
  ]) {
    assert.ok(pattern.test(url), url)
  }
  for (const hostile of [
    'no address',
    `http://${':1'.repeat(50_000)}`,
    `${'h'.repeat(50_000)}:`,
    `/${'/ '.repeat(50_000)}`,
  ]) {
    assert.ok(!pattern.test(hostile), hostile.slice(0, 20))
  }
  assert.ok(pattern.test(`http:/${'/a'.repeat(50_000)}\n`))
})
