import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sectionsOf } from './settings-sections.ts'

test('a section with two lists is prescribed by either of them, and by none when both are empty', () => {
  const ntpServerIpList = [{ fqdn: { value: 'time.example' } }]
  assert.deepEqual(sectionsOf({ ntpServerIpList }), { NTP_SERVER_CONFIG: { ntpServerIpList } })
  assert.deepEqual(sectionsOf({ ntpServerIpList, ntpServerConfigList: [] }), { NTP_SERVER_CONFIG: { ntpServerIpList } })
  assert.deepEqual(sectionsOf({ ntpServerIpList: [], ntpServerConfigList: [] }), {})
})
