/**
 * The authorities whose certificates a world takes of clients, kept beside its store: clients are asked before it is known which
 * world they want, also while it rests. They are public; whether a certificate counts, the world judges.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf } from '../core/start-refusal.ts'

const fileIn = (folder: string): string => join(folder, 'client-authorities.pem')
const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g

/** PEM, as they were when the world was last open. */
export const keptAuthorities = (folder: string): readonly string[] => textIn(folder).match(certificates) ?? []

export function keepAuthorities(folder: string, authorities: readonly string[]): void {
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
