import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stagedSettings } from './profile-settings.ts'

const type = (name: string): string => `vmm.v4.ahv.config.VmGcProfile${name}`
const nameIn = (unattendXml: string): string | undefined => {
  const config = { $objectType: type('SysprepConfig'), customization: { $objectType: type('AnswerFile'), unattendXml } }
  return stagedSettings(config as never, undefined, { name: 'vm', nics: 0 }).guestSettings.computerName
}

test('the computer name is the first one of an answer file that Windows does not choose itself', () => {
  const [chosen, given] = ['<ComputerName> * </ComputerName>', '<ComputerName>\n web-01 </ComputerName>']
  assert.equal(nameIn(`<a><ComputerName/>${chosen}${given}</a>`), 'web-01')
  assert.equal(nameIn(`<a>${chosen}</a>`), undefined)
})

test('an element inside the computer name is no name, however many blanks are before it', () => {
  assert.equal(nameIn(`<a><ComputerName>x${' '.repeat(31_900)}<b/></ComputerName></a>`), undefined)
})
