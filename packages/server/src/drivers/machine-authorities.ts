import { getCACertificates } from 'node:tls'

let known: readonly string[] | undefined

/** Authorities of Node and of this machine, PEM: those of private servers are often installed on the machine only. */
export const machineAuthorities = (): string[] => {
  known ??= [...new Set([...getCACertificates('default'), ...getCACertificates('system')])]
  return [...known]
}
