import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import snmp from 'net-snmp'
import { alertTypes } from '../alerts/alert.ts'
import { engineIdOf, notifications, objectIds } from './mib.ts'

const file = fileURLToPath(new URL('../../../../../../docs/reference/HYPERPLANE-ALERT-MIB.txt', import.meta.url))

test('the published module parses, and gives every notification and value the identifier that is sent', () => {
  const modules = snmp.createModuleStore()
  modules.loadFromFile(file)
  const published = modules.getModule('HYPERPLANE-ALERT-MIB') as Readonly<Record<string, any>>
  const idsOf = (macro: string): Record<string, string> =>
    Object.fromEntries(
      Object.values(published).flatMap((one) => (one.MACRO === macro ? [[one.ObjectName, one.OID]] : [])),
    )
  assert.deepEqual(idsOf('NOTIFICATION-TYPE'), notifications)
  const instances = Object.entries(idsOf('OBJECT-TYPE')).map(([name, oid]) => [name, `${oid}.0`])
  assert.deepEqual(Object.fromEntries(instances), objectIds)
})

test('the id of an engine has the length and the format bit of RFC 3411', () => {
  const id = Buffer.from(engineIdOf('a4d9b46b-33b9-5662-a0b3-95447d1dbee9'), 'hex')
  assert.equal(id.length, 21)
  assert.equal((id[0] as number) & 0x80, 0x80)
})

test('no two types of alerts have one number', () => {
  const numbers = Object.values(alertTypes).map(({ number }) => number)
  assert.equal(new Set(numbers).size, numbers.length)
})
