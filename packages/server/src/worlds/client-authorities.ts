/** Stored beside the store: TLS names authorities before the world is known, and it may rest. Worlds verify certificates themselves. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf } from '../core/start-refusal.ts'

const fileIn = (folder: string): string => join(folder, 'client-authorities.pem')
const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g

export const storedAuthorities = (folder: string): readonly string[] => textIn(folder).match(certificates) ?? []

export function storeAuthorities(folder: string, authorities: readonly string[]): void {
  const text = authorities.join('')
  if (text === textIn(folder)) return
  const file = fileIn(folder)
  if (text === '') {
    rmSync(file, { force: true })
    return
  }
  writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
}

function textIn(folder: string): string {
  try {
    return readFileSync(fileIn(folder), 'utf8')
  } catch (error) {
    if (reasonOf(error) === 'ENOENT') return ''
    throw error
  }
}
