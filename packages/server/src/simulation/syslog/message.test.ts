import assert from 'node:assert/strict'
import { test } from 'node:test'
import { syslogMessage } from './message.ts'

const line = { module: 'AUDIT', severity: 'INFO', time: Date.UTC(2026, 0, 2), id: 'createVm', text: 'A text.' } as const

test('a message has priority, version, time, host, module and id as RFC 5424 orders them', () => {
  assert.equal(
    syslogMessage(line, 'hp-native-01'),
    '<110>1 2026-01-02T00:00:00.000Z hp-native-01 AUDIT - createVm - A text.',
  )
  assert.match(syslogMessage({ ...line, module: 'GENESIS', severity: 'CRITICAL' }, 'c'), /^<130>1 /)
})

test('parameters are escaped, and control characters cannot forge a second message', () => {
  assert.equal(
    syslogMessage({ ...line, text: 'a\n<0>1 b', parameters: { user: 'x"]\\\n', none: undefined } }, 'my cluster'),
    '<110>1 2026-01-02T00:00:00.000Z my_cluster AUDIT - createVm [hyperplane@32473 user="x\\"\\]\\\\ "] a <0>1 b',
  )
})
