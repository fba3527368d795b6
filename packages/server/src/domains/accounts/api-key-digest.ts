import { createHash } from 'node:crypto'

/** The stored form of an API key: it recognises the key and does not reveal it. */
export const apiKeyDigest = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex')
