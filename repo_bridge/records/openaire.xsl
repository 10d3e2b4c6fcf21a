<?xml version="1.0" encoding="UTF-8"?>
<!-- OpenAIRE's guidelines for literature repositories 4.0 (DataCite 4 inside), from an item in XOAI. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:doc="http://www.lyncode.com/xoai"
  xmlns:oaire="http://namespace.openaire.eu/schema/oaire/" xmlns:datacite="http://datacite.org/schema/kernel-4"
  xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xmlns:map="urn:map" xmlns:exsl="http://exslt.org/common" exclude-result-prefixes="doc map exsl">
  <xsl:include href="coar.xsl"/>

  <xsl:variable name="ownmaps">
    <map:contributors>
      <map:contributor type="Supervisor">advisor</map:contributor>
      <map:contributor type="Supervisor">supervisor</map:contributor>
      <map:contributor type="Editor">editor</map:contributor>
    </map:contributors>
    <map:dates>
      <map:date type="Copyrighted">copyright</map:date>
      <map:date type="Created">created</map:date>
      <map:date type="Submitted">submitted</map:date>
      <map:date type="Updated">updated</map:date>
    </map:dates>
    <map:relations>
      <map:relation type="HasPart">haspart</map:relation>
      <map:relation type="HasVersion">hasversion</map:relation>
      <map:relation type="IsDerivedFrom">isbasedon</map:relation>
      <map:relation type="IsPartOf">ispartof</map:relation>
      <map:relation type="IsReferencedBy">isreferencedby</map:relation>
      <map:relation type="IsPreviousVersionOf">isreplacedby</map:relation>
      <map:relation type="IsVersionOf">isversionof</map:relation>
      <map:relation type="IsNewVersionOf">replaces</map:relation>
      <map:relation type="Requires">requires</map:relation>
    </map:relations>
  </xsl:variable>
  <xsl:variable name="own" select="exsl:node-set($ownmaps)"/>

  <xsl:variable name="issued" select="(key('field', 'dc.date.issued') | key('field', 'dcterms.issued'))[1]"/>
  <xsl:variable name="accepted" select="(key('field', 'dcterms.dateAccepted') | key('field', 'dc.date.accepted'))[1]"/>
  <xsl:variable name="handles" select="key('field', 'dc.identifier.uri')"/>
  <xsl:variable name="same" select="$handles[position() &gt; 1] | key('field', 'dc.identifier.doi') | key('field', 'dc.identifier.pmid')"/>
  <xsl:variable name="grants" select="key('element', 'dc.relation')[substring-before(concat(substring-after(., 'info:eu-repo/grantAgreement/'), '/'), '/') != '']"/>
  <xsl:variable name="projects" select="key('element', 'dc.relation')[key('authority', following-sibling::doc:field[1][@name='authority'][starts-with(., 'virtual::')])[../../../@name='funder' and ../../@name='name']]"/>

  <xsl:template match="/doc:metadata">
    <oaire:resource xsi:schemaLocation="http://namespace.openaire.eu/schema/oaire/ https://www.openaire.eu/schema/repo-lit/4.0/openaire.xsd">
      <xsl:if test="key('element', 'dc.title')">
        <datacite:titles>
          <xsl:for-each select="key('element', 'dc.title')">
            <datacite:title>
              <xsl:call-template name="language"/>
              <xsl:if test="../../@name = 'alternative'"><xsl:attribute name="titleType">AlternativeTitle</xsl:attribute></xsl:if>
              <xsl:value-of select="."/>
            </datacite:title>
          </xsl:for-each>
        </datacite:titles>
      </xsl:if>
      <xsl:if test="$creators">
        <datacite:creators>
          <xsl:for-each select="$creators">
            <datacite:creator>
              <datacite:creatorName><xsl:value-of select="."/></datacite:creatorName>
              <xsl:call-template name="nameIdentifier"/>
            </datacite:creator>
          </xsl:for-each>
        </datacite:creators>
      </xsl:if>
      <xsl:variable name="contributors" select="key('element', 'dc.contributor')[../../@name != 'author']"/>
      <xsl:if test="$contributors">
        <datacite:contributors>
          <xsl:for-each select="$contributors">
            <xsl:variable name="role" select="$own/map:contributors/map:contributor[. = current()/../../@name]/@type"/>
            <datacite:contributor contributorType="Other">
              <xsl:if test="$role"><xsl:attribute name="contributorType"><xsl:value-of select="$role"/></xsl:attribute></xsl:if>
              <datacite:contributorName><xsl:value-of select="."/></datacite:contributorName>
              <xsl:call-template name="nameIdentifier"/>
            </datacite:contributor>
          </xsl:for-each>
        </datacite:contributors>
      </xsl:if>
      <xsl:call-template name="funding"/>
      <xsl:if test="$same">
        <datacite:alternateIdentifiers>
          <xsl:for-each select="$same">
            <datacite:alternateIdentifier>
              <xsl:attribute name="alternateIdentifierType">
                <xsl:choose>
                  <xsl:when test="../../@name = 'pmid'">PMID</xsl:when>
                  <xsl:otherwise><xsl:call-template name="scheme"><xsl:with-param name="handle">Handle</xsl:with-param></xsl:call-template></xsl:otherwise>
                </xsl:choose>
              </xsl:attribute>
              <xsl:value-of select="."/>
            </datacite:alternateIdentifier>
          </xsl:for-each>
        </datacite:alternateIdentifiers>
      </xsl:if>
      <xsl:variable name="within" select="key('field', 'dc.identifier.isbn') | key('field', 'dc.identifier.issn') | key('field', 'dc.identifier.eissn')"/>
      <xsl:variable name="related" select="key('element', 'dc.relation')[../../@name = $own/map:relations/map:relation][starts-with(., 'http') or starts-with(., '10.')]"/>
      <xsl:if test="$within | $related">
        <datacite:relatedIdentifiers>
          <xsl:for-each select="$within">
            <datacite:relatedIdentifier relatedIdentifierType="{translate(../../@name, $lower, $upper)}" relationType="IsPartOf"><xsl:value-of select="."/></datacite:relatedIdentifier>
          </xsl:for-each>
          <xsl:for-each select="$related">
            <datacite:relatedIdentifier relationType="{$own/map:relations/map:relation[. = current()/../../@name]/@type}">
              <xsl:attribute name="relatedIdentifierType"><xsl:call-template name="scheme"><xsl:with-param name="handle">Handle</xsl:with-param></xsl:call-template></xsl:attribute>
              <xsl:value-of select="."/>
            </datacite:relatedIdentifier>
          </xsl:for-each>
        </datacite:relatedIdentifiers>
      </xsl:if>
      <xsl:call-template name="dates"/>
      <xsl:for-each select="key('element', 'dc.language')">
        <xsl:variable name="code"><xsl:call-template name="iso639"/></xsl:variable>
        <xsl:if test="$code != ''"><dc:language><xsl:value-of select="$code"/></dc:language></xsl:if>
      </xsl:for-each>
      <xsl:for-each select="key('element', 'dc.publisher')"><dc:publisher><xsl:value-of select="."/></dc:publisher></xsl:for-each>
      <oaire:resourceType resourceTypeGeneral="literature" uri="{$coar}resource_type/{$type/@uri}">
        <xsl:if test="$type/@general"><xsl:attribute name="resourceTypeGeneral"><xsl:value-of select="$type/@general"/></xsl:attribute></xsl:if>
        <xsl:value-of select="$type"/>
      </oaire:resourceType>
      <xsl:for-each select="key('field', 'dc.description.abstract')">
        <dc:description><xsl:call-template name="language"/><xsl:value-of select="."/></dc:description>
      </xsl:for-each>
      <xsl:for-each select="$files/doc:field[@name='format'][not(. = ../preceding-sibling::*/doc:field[@name='format'])]">
        <dc:format><xsl:value-of select="."/></dc:format>
      </xsl:for-each>
      <xsl:for-each select="($handles | key('field', 'dc.identifier.doi')[not($handles)] | $others/doc:field[@name='handle'][not($handles)])[1]">
        <datacite:identifier>
          <xsl:attribute name="identifierType"><xsl:call-template name="scheme"/></xsl:attribute>
          <xsl:if test="@name = 'handle'">https://hdl.handle.net/</xsl:if><xsl:value-of select="."/>
        </datacite:identifier>
      </xsl:for-each>
      <xsl:variable name="named" select="translate(key('field', 'dc.rights')[contains(translate(., $upper, $lower), ' access')][1], $upper, $lower)"/>
      <xsl:variable name="said" select="$maps/map:rights/map:right[. = $named][$status = 'metadata.only']"/>
      <xsl:variable name="right" select="$said | $maps/map:rights/map:right[@status = $status][not($said)]"/>
      <datacite:rights rightsURI="{$coar}access_right/{$right/@uri}"><xsl:value-of select="$right"/></datacite:rights>
      <xsl:for-each select="key('element', 'dc.source')"><dc:source><xsl:value-of select="."/></dc:source></xsl:for-each>
      <xsl:if test="key('element', 'dc.subject')">
        <datacite:subjects>
          <xsl:for-each select="key('element', 'dc.subject')">
            <datacite:subject><xsl:call-template name="language"/><xsl:value-of select="."/></datacite:subject>
          </xsl:for-each>
        </datacite:subjects>
      </xsl:if>
      <xsl:if test="$license">
        <oaire:licenseCondition uri="{$license}">
          <xsl:if test="$issued"><xsl:attribute name="startDate"><xsl:call-template name="day"><xsl:with-param name="of" select="$issued"/></xsl:call-template></xsl:attribute></xsl:if>
          <xsl:variable name="called" select="key('field', 'dc.rights')[not(starts-with(., 'http') or contains(translate(., $upper, $lower), ' access'))][1]"/>
          <xsl:value-of select="$called | $license[not($called)]"/>
        </oaire:licenseCondition>
      </xsl:if>
      <xsl:for-each select="key('element', 'dc.coverage')"><dc:coverage><xsl:value-of select="."/></dc:coverage></xsl:for-each>
      <xsl:if test="$files/doc:field[@name='size']">
        <datacite:sizes>
          <xsl:for-each select="$files/doc:field[@name='size']"><datacite:size><xsl:value-of select="."/> bytes</datacite:size></xsl:for-each>
        </datacite:sizes>
      </xsl:if>
      <xsl:if test="$version"><oaire:version uri="{$coar}version/{$version/@uri}"><xsl:value-of select="$version"/></oaire:version></xsl:if>
      <xsl:for-each select="$files">
        <oaire:file accessRightsURI="{$coar}access_right/c_abf2" objectType="other">
          <xsl:for-each select="doc:field[@name='format']"><xsl:attribute name="mimeType"><xsl:value-of select="."/></xsl:attribute></xsl:for-each>
          <xsl:choose>
            <xsl:when test="not($type/@general)"><xsl:attribute name="objectType">fulltext</xsl:attribute></xsl:when>
            <xsl:when test="$type/@general != 'other research product'"><xsl:attribute name="objectType"><xsl:value-of select="$type/@general"/></xsl:attribute></xsl:when>
          </xsl:choose>
          <xsl:value-of select="doc:field[@name='url']"/>
        </oaire:file>
      </xsl:for-each>
      <xsl:for-each select="key('element', 'oaire.citation')">
        <xsl:variable name="name" select="../../@name"/>
        <xsl:if test="contains(' title volume issue startPage endPage edition conferencePlace conferenceDate ', concat(' ', $name, ' '))">
          <xsl:element name="oaire:citation{translate(substring($name, 1, 1), $lower, $upper)}{substring($name, 2)}"><xsl:value-of select="."/></xsl:element>
        </xsl:if>
      </xsl:for-each>
    </oaire:resource>
  </xsl:template>

  <!-- Projects that are entities, grants in the older form info:eu-repo/grantAgreement/FUNDER/PROGRAMME/NUMBER, or names of sponsors. -->
  <xsl:template name="funding">
    <xsl:variable name="sponsors" select="key('field', 'dc.description.sponsorship')[not($grants | $projects)]"/>
    <xsl:if test="$grants | $projects | $sponsors">
      <oaire:fundingReferences>
        <xsl:for-each select="$projects">
          <xsl:variable name="of" select="key('authority', following-sibling::doc:field[1])"/>
          <oaire:fundingReference>
            <oaire:funderName><xsl:value-of select="$of[../../../@name='funder' and ../../@name='name']"/></oaire:funderName>
            <xsl:for-each select="$of[../../@name='fundingStream'][1]"><oaire:fundingStream><xsl:value-of select="."/></oaire:fundingStream></xsl:for-each>
            <xsl:for-each select="$of[../../@name='awardNumber'][1]">
              <oaire:awardNumber>
                <xsl:for-each select="$of[../../@name='awardURI'][1]"><xsl:attribute name="awardURI"><xsl:value-of select="."/></xsl:attribute></xsl:for-each>
                <xsl:value-of select="."/>
              </oaire:awardNumber>
            </xsl:for-each>
            <oaire:awardTitle><xsl:value-of select="."/></oaire:awardTitle>
          </oaire:fundingReference>
        </xsl:for-each>
        <xsl:for-each select="$grants">
          <xsl:variable name="rest" select="substring-after(., 'info:eu-repo/grantAgreement/')"/>
          <xsl:variable name="funder" select="substring-before(concat($rest, '/'), '/')"/>
          <xsl:variable name="stream" select="substring-before(concat(substring-after($rest, '/'), '/'), '/')"/>
          <xsl:variable name="number" select="substring-before(concat(substring-after(substring-after($rest, '/'), '/'), '/'), '/')"/>
            <oaire:fundingReference>
              <oaire:funderName>
                <xsl:choose>
                  <xsl:when test="$funder = 'EC'">European Commission</xsl:when>
                  <xsl:otherwise><xsl:value-of select="$funder"/></xsl:otherwise>
                </xsl:choose>
              </oaire:funderName>
              <xsl:if test="$stream != ''"><oaire:fundingStream><xsl:value-of select="$stream"/></oaire:fundingStream></xsl:if>
              <xsl:if test="$number != ''"><oaire:awardNumber><xsl:value-of select="$number"/></oaire:awardNumber></xsl:if>
            </oaire:fundingReference>
        </xsl:for-each>
        <xsl:for-each select="$sponsors">
          <oaire:fundingReference><oaire:funderName><xsl:value-of select="."/></oaire:funderName></oaire:fundingReference>
        </xsl:for-each>
      </oaire:fundingReferences>
    </xsl:if>
  </xsl:template>

  <!-- An embargo has the dates of its start and its end. Without a date of issue, another one stands for it. -->
  <xsl:template name="dates">
    <xsl:variable name="published" select="$issued | (key('element', 'dc.date') | key('field', 'dcterms.available'))[not($issued)][1]"/>
    <xsl:variable name="began" select="$accepted | $published[$embargo and not($accepted)]"/>
    <xsl:variable name="opened" select="key('field', 'dcterms.available')"/>
    <xsl:variable name="available" select="($embargo | $opened[not($embargo)] | key('field', 'dc.date.available')[not($embargo or $opened)])[1]"/>
    <xsl:variable name="dated" select="key('element', 'dc.date')[../../@name = $own/map:dates/map:date]"/>
    <xsl:if test="$published | $began | $available | $dated">
      <datacite:dates>
        <xsl:for-each select="$published"><datacite:date dateType="Issued"><xsl:call-template name="day"/></datacite:date></xsl:for-each>
        <xsl:for-each select="$began"><datacite:date dateType="Accepted"><xsl:call-template name="day"/></datacite:date></xsl:for-each>
        <xsl:for-each select="$available"><datacite:date dateType="Available"><xsl:call-template name="day"/></datacite:date></xsl:for-each>
        <xsl:for-each select="$dated">
          <datacite:date dateType="{$own/map:dates/map:date[. = current()/../../@name]/@type}"><xsl:call-template name="day"/></datacite:date>
        </xsl:for-each>
      </datacite:dates>
    </xsl:if>
  </xsl:template>

  <!-- The type of an identifier, from what it says; only the identifier of the record itself has HANDLE in capitals. -->
  <xsl:template name="scheme">
    <xsl:param name="handle">HANDLE</xsl:param>
    <xsl:choose>
      <xsl:when test="contains(., 'doi.org/') or starts-with(., '10.') or starts-with(., 'doi:')">DOI</xsl:when>
      <xsl:when test="contains(., 'ark:')">ARK</xsl:when>
      <xsl:when test="contains(., 'purl.')">PURL</xsl:when>
      <xsl:when test="starts-with(., 'urn:')">URN</xsl:when>
      <xsl:when test="starts-with(., 'http') and not(contains(., 'hdl.handle.net/'))">URL</xsl:when>
      <xsl:otherwise><xsl:value-of select="$handle"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <xsl:template name="nameIdentifier">
    <xsl:variable name="id"><xsl:call-template name="orcid"/></xsl:variable>
    <xsl:if test="$id != ''"><datacite:nameIdentifier nameIdentifierScheme="ORCID" schemeURI="https://orcid.org"><xsl:value-of select="$id"/></datacite:nameIdentifier></xsl:if>
  </xsl:template>

  <!-- The language of a value, with at most one subtag, if it is one that XML knows. -->
  <xsl:template name="language">
    <xsl:variable name="name" select="translate(../@name, '_', '-')"/>
    <xsl:variable name="head" select="substring-before(concat($name, '-'), '-')"/>
    <xsl:variable name="tail" select="substring-after($name, '-')"/>
    <xsl:if test="$name != 'none' and $head != '' and string-length($head) &lt; 9 and not(translate($head, concat($upper, $lower), ''))">
      <xsl:attribute name="xml:lang">
        <xsl:value-of select="$head"/>
        <xsl:if test="$tail != '' and string-length($tail) &lt; 9 and not(translate($tail, concat($upper, $lower, '0123456789'), ''))">-<xsl:value-of select="$tail"/></xsl:if>
      </xsl:attribute>
    </xsl:if>
  </xsl:template>
</xsl:stylesheet>
