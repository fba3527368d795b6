import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { firstValue, normalForm } from './distinguished-name.ts'

describe('all spellings of a distinguished name have the same normal form', () => {
  const spellings = [
    'cn=VM Admins,ou=groups,dc=example,dc=com',
    'CN=vm admins,OU=Groups,DC=EXAMPLE,DC=com',
    '  cn = VM  Admins , ou=groups ,dc=example, dc=com  ',
    'cn=VM\\20Admins,ou=groups,dc=example,dc=com',
    'cn=\\ VM Admins\\ ,ou=groups,dc=example,dc=com',
  ]
  for (const spelling of spellings) {
    test(spelling, () => assert.equal(normalForm(spelling), 'cn=vm admins,ou=groups,dc=example,dc=com'))
  }
})

const forms: readonly (readonly [string, string | undefined])[] = [
  ['cn=a\\,b,dc=c', 'cn=a\\,b,dc=c'],
  ['cn=a\\2Cb,dc=c', 'cn=a\\,b,dc=c'],
  ['cn=a,dc=b,dc=c', 'cn=a,dc=b,dc=c'],
  ['ou=x+cn=y,dc=c', 'cn=y+ou=x,dc=c'],
  ['cn=Stra\\C3\\9Fe', 'cn=stra\u00dfe'],
  ['cn=\u{1F600}', 'cn=\u{1F600}'],
  ['2.5.4.3=a', '2.5.4.3=a'],
  ['cn=#04024869,dc=c', 'cn=#04024869,dc=c'],
  ['cn=a=b', 'cn=a\\=b'],
  ['', undefined],
  ['vm-admins', undefined],
  ['=a', undefined],
  ['cn=', undefined],
  ['cn=a,', undefined],
  ['cn=a,,dc=b', undefined],
  ['cn=a;dc=b', undefined],
  ['cn=a"b', undefined],
  ['cn=a\\', undefined],
  ['cn=a\\zz', undefined],
  ['cn=#0', undefined],
  ['c n=a', undefined],
  ['1cn=a', undefined],
  ['cn=a)(uid=*', 'cn=a)(uid\\=*'],
]
for (const [text, form] of forms) {
  test(`${JSON.stringify(text)} is ${form === undefined ? 'no distinguished name' : form}`, () =>
    assert.equal(normalForm(text), form))
}

test('the first value of a distinguished name is its short name', () => {
  assert.equal(firstValue('CN=VM Admins, OU=groups'), 'VM Admins')
  assert.equal(firstValue('no name'), '')
})
